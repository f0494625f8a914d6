#pragma once
// RunSummary: what lists and live views show of a run, from the store's row to the console's.
//
// One shape for store, daemon, clients and faces; beside it stand only the row of the store and the
// message of proto/millrace/v1. Times are UTC ms since 1970, 0 where it has not happened; steps
// count from 1, epochs from 0; an optional that is empty is unknown, never zero.
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
    std::int64_t step = 0, stepsTotal = 0;  ///< stepsTotal 0: not known
    std::int64_t epoch = 0, epochs = 0;     ///< epochs: that the spec asks for; 0: not known
    std::int64_t rows = 0;                  ///< trained so far
    Phase phase = Phase::kUnknown;
    /// Of rank 0 over all attempts, as of `timeMs`; of a run that has ended, as of its end.
    std::optional<PhaseTimes> times;
    /// Share of the last seconds that rank 0 waited for data; of a run that goes on.
    std::optional<double> stallPercentNow;
    /// Over the last minute, evaluations and checkpoints included; of a run that goes on.
    std::optional<double> stepsPerSecond;
    std::int64_t timeMs = 0;  ///< of the newest report; 0: none
    bool operator==(const Progress&) const = default;
};

/// The newest or the best value of a metric, and where it was reported.
struct RunFigure {
    std::string name;
    double value = 0;
    std::int64_t step = 0, timeMs = 0, epoch = 0;
    std::int64_t rows = 0;  ///< trained so far
    int attempt = 0;        ///< that reported it, from 1; 0: not known
    bool operator==(const RunFigure&) const = default;
};

struct RunSummary {
    std::string id;   ///< "r-" and 5 or more characters, never reused
    std::string uid;  ///< UUIDv7, 32 hex digits
    std::string name;
    std::string variation;    ///< "" for the base
    std::string variationOf;  ///< the base's run of the same submit; "" when there is none
    std::string owner, project, note;
    std::map<std::string, std::string> tags;
    RunState state = RunState::kUnknown;
    std::string queuedReason;        ///< what it waits for: in the queue, and between its attempts
    std::string exitReason;          ///< one sentence when failed or cancelled
    std::string trouble;             ///< what is wrong while it goes on; "": nothing
    std::int64_t standsSinceMs = 0;  ///< it has not got on since; 0: it gets on
    int attempt = 0;                 ///< the newest; 0 before the first start
    int restarts = 0;                ///< by itself after a failure; a resume is none
    std::int64_t createdMs = 0, startedMs = 0, endedMs = 0, deletedMs = 0;
    std::int64_t purgedMs = 0;  ///< its files, points and plan were freed for good; 0: they are not
    Progress progress;
    std::vector<RunFigure> latestMetrics;  ///< sorted by name
    /// The best of each evaluation metric that has a better way: value and step; sorted by name.
    std::vector<RunFigure> bestMetrics;
    std::optional<double> meanRate;  ///< samples/s over all steps so far, evaluations left out
    std::string specHash, streamHash, planHash;
    std::string group;      ///< the base's run, shared by the runs of one submit
    std::string parentRun;  ///< the run that this one repeats or continues; "" when there is none
    std::string submitKey;  ///< the same key gives the same run; "" for none
    std::string model;      ///< model.type
    /// Path(s) as written: "a.csv, b.csv" (of the store: the spec's JSON where they are several).
    std::string dataset;
    std::string host;
    std::string gitCommit;  ///< "" outside of a repository
    bool isGitDirty = false;
    std::uint64_t seed = 0;
    std::uint64_t revision = 0;  ///< grows with every change of any run
    std::int64_t rowsRead = 0, rowsKept = 0, rowsTrained = 0;  ///< of committed steps
    std::string orderHash, evalOrderHash;                      ///< "" unknown
    int orderHashVersion = 0;  ///< of both; those of two versions do not compare. 0: unknown
    std::map<std::string, std::string> params;  ///< scalars of the resolved spec; where asked for
    std::vector<RankNow> ranks;        ///< of one that goes on, by rank; kRanksTold at most
    std::optional<HandOver> handOver;  ///< nothing: no checkpoint is on its way to the head

    /// The newest value of a metric.
    std::optional<double> metric(std::string_view metricName) const;
    /// Null where there is none, or where the daemon does not tell it.
    const RunFigure* newest(std::string_view metricName) const;
    const RunFigure* best(std::string_view metricName) const;
    /// Samples/s: the mean over all steps of a run that has ended, the newest of one that goes on.
    std::optional<double> rate() const;
    /// Share of the whole run's time that rank 0 waited for data.
    std::optional<double> stallPercent() const;
    /// Until its last step, s, at the pace of the last minute; none of one that does not get on.
    std::optional<double> secondsLeft() const;
    /// It goes on and does not get on.
    bool isStalled() const { return standsSinceMs != 0 && !isEnded(state); }
    bool isDeleted() const { return deletedMs != 0; }
    /// It is deleted, and there is no way back.
    bool isPurged() const { return purgedMs != 0; }
    /// "stalled" or "purged" for such a run, else the name of its state: for people.
    std::string_view stateWord() const;
    /// Why it waits, ends or ended as it did, or what is wrong with it now; "" when all is well.
    const std::string& reason() const;
    bool operator==(const RunSummary&) const = default;
};

/// In order of submit; runs of one submit as its spec lists them, the base first.
inline bool isSubmittedBefore(const RunSummary& a, const RunSummary& b) {
    return std::tie(a.createdMs, a.uid) < std::tie(b.createdMs, b.uid);
}
/// The order of lists: the newest submit first, its runs as the spec lists them.
inline bool isListedBefore(const RunSummary& a, const RunSummary& b) {
    return std::tie(b.createdMs, a.uid) < std::tie(a.createdMs, b.uid);
}

struct RunUpdate {
    RunSummary run;
    bool isRemoved = false, isSnapshotEnd = false;
    bool operator==(const RunUpdate&) const = default;
};

/// A run that was deleted, and what its files take.
struct RemovedRun {
    RunSummary run;
    std::uint64_t freedBytes = 0, heldBytes = 0;
    int keepHours = 0;  ///< after which its checkpoints are freed
    bool operator==(const RemovedRun&) const = default;
};

}  // namespace millrace::values
