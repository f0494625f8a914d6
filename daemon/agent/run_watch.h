#pragma once
// RunWatch and MetricFollower: the sources of the streams of changes, read step by step. Used by
// the services.
//
// They read the store and keep only positions, so a slow reader costs nothing: changes of a run are
// merged, lines of metrics are never left out. Threads: one owner each.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "backend/runs/run_store.h"
#include "daemon/agent/run/live_table.h"

namespace millrace::agent {

/// Returns a run for lists: what is stored of it, and what the daemon knows beside that.
values::RunSummary shownRun(values::RunSummary stored, const values::RunLive& live);

/// Returns what is stored of a run, without its documents.
Result<values::RunSummary> readSummary(const runs::RunStore& store, const std::string& id);

struct RunChanges {
    std::vector<values::RunSummary> runs;
    bool isSnapshotEnd = false;  ///< the first answer: all runs that existed; changes follow
    bool isEnd = false;          ///< all the runs that were asked for have ended
};

class RunWatch {
 public:
    /// `runIds`: empty for all runs.
    RunWatch(const runs::RunStore& store, const LiveTable& live, std::vector<std::string> runIds);
    /// Returns what changed since the last call; no runs if nothing did.
    Result<RunChanges> next();

 private:
    Result<RunChanges> first();
    Status addChanged(RunChanges& changes);
    void addLive(RunChanges& changes);
    bool isWanted(const std::string& id) const { return ids_.empty() || ids_.contains(id); }
    void show(values::RunSummary stored, RunChanges& changes);

    const runs::RunStore& store_;
    const LiveTable& live_;
    const std::set<std::string> ids_;
    std::int64_t cursor_ = -1;
    std::uint64_t version_ = 0;
    std::map<std::string, values::RunLive> shown_;  // of runs that have not ended
    std::set<std::string> ended_;
    bool isStarted_ = false;
};

/// Returns a run's lines, each exactly once, also to a reader that resumes with its cursor.
class MetricFollower {
 public:
    MetricFollower(const runs::RunMetrics& store, std::string runId,
                   values::MetricsRequest request);
    /// Returns the next lines, roughly at most `most`.
    Result<values::MetricChunk> next(std::size_t most);

 private:
    bool isWanted(const std::string& name) const;
    Status learnNames(const std::vector<values::MetricLine>& lines);
    void keepWanted(values::MetricLine& line, values::MetricChunk& chunk);

    struct Key {
        std::string name;
        bool isWanted = false, isTold = false;
    };
    const runs::RunMetrics& store_;
    const std::string runId_;
    const std::set<std::string> names_;
    const std::int64_t fromStep_;
    const bool withSystem_;
    const int rank_;
    values::MetricCursor cursor_;
    std::map<std::uint32_t, Key> keys_;  // by number
};

}  // namespace millrace::agent
