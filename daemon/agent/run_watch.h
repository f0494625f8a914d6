#pragma once
// RunWatch and MetricFollower: what streams of changes are made of, asked for step by step.
//
// They read the store and keep only positions, so a slow reader costs nothing: changes of a run
// coalesce, points of metrics are never left out. Threads: one owner each.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/runs/run_store.h"
#include "daemon/agent/run/live_table.h"

namespace millrace::agent {

/// A run as lists show it: what is stored of it, and what the daemon knows beside that.
values::RunSummary shownRun(runs::RunSummary stored, const LiveRun& live);

/// What is stored of a run, without its documents.
Result<runs::RunSummary> readSummary(const runs::RunStore& store, const std::string& id);

struct RunChanges {
    std::vector<values::RunSummary> runs;
    bool isSnapshotEnd = false;  ///< the first answer: all there was; changes follow
    bool isEnd = false;          ///< all the runs that were asked for have ended
};

class RunWatch {
 public:
    /// `runIds`: none for all runs.
    RunWatch(const runs::RunStore& store, const LiveTable& live, std::vector<std::string> runIds);
    /// What changed since the last call; nothing changed: no runs.
    Result<RunChanges> next();

 private:
    Result<RunChanges> first();
    Status addChanged(RunChanges& changes);
    void addLive(RunChanges& changes);
    bool isWanted(const std::string& id) const { return ids_.empty() || ids_.contains(id); }
    void show(runs::RunSummary stored, RunChanges& changes);

    const runs::RunStore& store_;
    const LiveTable& live_;
    const std::set<std::string> ids_;
    std::int64_t cursor_ = -1;
    std::uint64_t version_ = 0;
    std::map<std::string, LiveRun> shown_;  // of runs that have not ended
    std::set<std::string> ended_;
    bool isStarted_ = false;
};

struct MetricValue {
    std::string name;
    runs::MetricPoint point;
};

struct MetricChanges {
    std::vector<MetricValue> points;      ///< by step, then name
    std::int64_t replacesAfterStep = -1;  ///< >= 0: a new attempt; what was sent after it is void
    bool isEnd = false;                   ///< the run has ended and all was sent
};

/// Which points of a run are asked for.
struct MetricWish {
    std::vector<std::string> names;  ///< none: all of the run's own
    std::int64_t fromStep = 0;       ///< inclusive
    bool withSystem = false;         ///< without names: also what the daemon measures beside it
};

class MetricFollower {
 public:
    MetricFollower(const runs::RunStore& store, std::string runId, MetricWish wish);
    /// The next points, about `most` at most.
    Result<MetricChanges> next(std::size_t most);

 private:
    /// The last point sent of a metric: several may stand at one step.
    struct Sent {
        std::int64_t step = 0;
        int attempt = 0;
        std::int64_t count = 0;  // of this attempt's points at this step
    };

    bool isWanted(const std::string& name) const;
    Status addNew(std::size_t most, MetricChanges& changes);
    bool addSeries(const runs::MetricSeries& series, std::size_t most, MetricChanges& changes);
    Status noticeAttempt(const runs::RunSummary& run, MetricChanges& changes);

    const runs::RunStore& store_;
    const std::string runId_;
    const std::set<std::string> names_;
    const std::int64_t fromStep_;
    const bool withSystem_;
    std::map<std::string, Sent> sent_;  // by name
    int attempt_ = 0;
    std::optional<std::uint64_t> readRevision_;  // of the run, when all its points were sent
};

}  // namespace millrace::agent
