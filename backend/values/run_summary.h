#pragma once
// RunSummary: what lists and live views show of a run, from the store's row to the console's.
//
// Store, daemon, clients and user interfaces share this one type; the only other forms are the
// store's row and the message of proto/millrace/v1. Times are UTC ms since 1970, 0 if the event has
// not happened; steps count from 1, epochs from 0; an empty optional means unknown, never zero.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "backend/values/hand_over.h"
#include "backend/values/phase_times.h"
#include "backend/values/rank_now.h"
#include "backend/values/run_state.h"

namespace millrace::values {

struct Progress {
    std::int64_t step = 0, stepsTotal = 0;  ///< stepsTotal 0: unknown
    std::int64_t epoch = 0, epochs = 0;     ///< epochs: as requested by the spec; 0: unknown
    std::int64_t rows = 0;                  ///< trained so far
    Phase phase = Phase::kUnknown;
    /// Rank 0, over all attempts, as of `timeMs`; for a run that has ended, as of its end.
    std::optional<PhaseTimes> times;
    /// Share of the last seconds that rank 0 waited for data; only for a run in progress.
    std::optional<double> stallPercentNow;
    /// Over the last minute, including evaluations and checkpoints; only for a run in progress.
    std::optional<double> stepsPerSecond;
    std::int64_t timeMs = 0;  ///< time of the newest report; 0: none
    bool operator==(const Progress&) const = default;
};

/// The newest or the best value of a metric, and where it was reported.
struct RunFigure {
    std::string name;
    double value = 0;
    std::int64_t step = 0, timeMs = 0, epoch = 0;
    std::int64_t rows = 0;  ///< trained so far
    int attempt = 0;        ///< that reported it, from 1; 0: unknown
    bool operator==(const RunFigure&) const = default;
};

struct RunSummary {
    std::string id;   ///< "r-" and 5 or more characters, never reused
    std::string uid;  ///< UUIDv7, 32 hex digits
    std::string name;
    std::string variation;    ///< "" for the base
    std::string variationOf;  ///< the base's run of the same submit; "" if there is none
    std::string owner, project, note;
    std::map<std::string, std::string> tags;
    RunState state = RunState::kUnknown;
    std::string queuedReason;        ///< what it waits for, in the queue or between attempts
    std::string exitReason;          ///< one sentence if failed or cancelled
    std::string trouble;             ///< what is wrong while it is in progress; "": nothing
    std::int64_t standsSinceMs = 0;  ///< stuck since then; 0: it makes progress
    int attempt = 0;                 ///< the newest; 0 before the first start
    int restarts = 0;                ///< automatic restarts after a failure; a resume does not
                                     ///< count
    std::int64_t createdMs = 0, startedMs = 0, endedMs = 0, deletedMs = 0;
    std::int64_t purgedMs = 0;  ///< when its files, points and plan were freed for good; 0: not
                                ///< freed
    Progress progress;
    std::vector<RunFigure> latestMetrics;  ///< sorted by name
    /// The best value of each evaluation metric whose better direction is known, with its step; by
    /// name.
    std::vector<RunFigure> bestMetrics;
    std::optional<double> meanRate;  ///< samples/s over all steps so far, without evaluations
    std::string specHash, streamHash, planHash;
    std::string group;      ///< the base's run, shared by the runs of one submit
    std::string submitKey;  ///< equal keys return the same run; "": no key
    std::string model;      ///< model.type
    /// Path(s) as written: "a.csv, b.csv" (in the store: the spec's JSON if there are several).
    std::string dataset;
    std::string host;
    std::string gitCommit;  ///< "" outside a repository
    bool isGitDirty = false;
    std::uint64_t seed = 0;
    std::uint64_t revision = 0;  ///< grows with every change to any run
    std::int64_t rowsRead = 0, rowsKept = 0, rowsTrained = 0;  ///< of committed steps
    std::string orderHash, evalOrderHash;                      ///< "" unknown
    int orderHashVersion = 0;  ///< of both; different versions cannot be compared. 0: unknown
    std::map<std::string, std::string> params;  ///< scalars of the resolved spec; only on request
    std::vector<RankNow> ranks;        ///< of a run in progress, by rank; at most kRanksTold
    std::optional<HandOver> handOver;  ///< none: no checkpoint is in transfer to the head

    /// The newest value of a metric.
    std::optional<double> metric(std::string_view metricName) const;
    /// Null if it does not exist, or if the daemon does not report it.
    const RunFigure* newest(std::string_view metricName) const;
    const RunFigure* best(std::string_view metricName) const;
    /// Samples/s: the mean over all steps of an ended run, the newest value of a run in progress.
    std::optional<double> rate() const;
    /// Share of the whole run's time that rank 0 spent waiting for data.
    std::optional<double> stallPercent() const;
    /// Seconds until its last step, at the pace of the last minute; none for a stuck run.
    std::optional<double> secondsLeft() const;
    /// In progress, but stuck.
    bool isStalled() const { return standsSinceMs != 0 && !isEnded(state); }
    bool isDeleted() const { return deletedMs != 0; }
    /// Deleted for good: it cannot be restored.
    bool isPurged() const { return purgedMs != 0; }
    /// For people: "stalled" or "purged" if it applies, else the name of its state.
    std::string_view stateWord() const;
    /// Why it waits, is ending or ended, or what is wrong with it now; "" if all is well.
    const std::string& reason() const;
    bool operator==(const RunSummary&) const = default;
};

/// By time of submit; runs of one submit in the spec's order, the base first.
inline bool isSubmittedBefore(const RunSummary& a, const RunSummary& b) {
    return std::tie(a.createdMs, a.uid) < std::tie(b.createdMs, b.uid);
}
/// The order of lists: newest submit first, its runs in the spec's order.
inline bool isListedBefore(const RunSummary& a, const RunSummary& b) {
    return std::tie(b.createdMs, a.uid) < std::tie(a.createdMs, b.uid);
}

struct RunUpdate {
    RunSummary run;
    bool isRemoved = false, isSnapshotEnd = false;
    bool operator==(const RunUpdate&) const = default;
};

/// A deleted run, and the space of its files.
struct RemovedRun {
    RunSummary run;
    std::uint64_t freedBytes = 0, heldBytes = 0;
    int keepHours = 0;  ///< hours until its checkpoints are freed
    bool operator==(const RemovedRun&) const = default;
};

}  // namespace millrace::values
