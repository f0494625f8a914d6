#pragma once
// LogFollower: a run's log as a stream tells it: what is there, then what comes, up to the end.
//
// Reads only when the logs have grown, lists workers only when some may have come, and asks the
// store only when it has news: who follows a run that says nothing costs nothing. Threads: one
// owner. Failure: as LogReader.
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>

#include "backend/runs/run_store.h"
#include "daemon/agent/log_reader.h"
#include "daemon/agent/run/live_table.h"

namespace millrace::agent {

class LogFollower {
 public:
    /// Where the run's end is seen; both outlive the follower.
    struct Sources {
        const runs::RunStore& store;
        const LiveTable& live;
    };
    /// `query.isFollowing`: up to the run's end; else up to what is there. `onNews`: next() is
    /// worth a call; from any thread, until the follower's death. So is news of the live table.
    /// kInvalidArgument for a cursor that is none.
    static Result<LogFollower> open(Sources sources, const job::WorkerLogs& logs, std::string runId,
                                    const LogQuery& query, std::function<void()> onNews);

    struct Turn {
        values::LogChunk chunk;  ///< of no lines where there is nothing new
        bool isMore = false;     ///< ask again at once
    };
    Turn next(std::size_t most);
    const std::string& runId() const { return runId_; }

 private:
    LogFollower(Sources sources, std::string runId, LogReader reader)
        : sources_(sources), runId_(std::move(runId)), reader_(std::move(reader)) {}
    bool hasEnded() const;

    /// Reports of the logs that next() has not processed.
    struct News {
        std::atomic<bool> haveGrown{true}, mayHaveOthers{true};
    };

    Sources sources_;
    std::string runId_;
    LogReader reader_;
    std::shared_ptr<News> news_ = std::make_shared<News>();
    std::unique_ptr<job::LogSubscription> subscription_;  // null: it does not wait for more
    std::uint64_t version_ = std::numeric_limits<std::uint64_t>::max();  // of the live table
    bool isOver_ = false;                                                // no line can follow
    bool isListedAtEnd_ = false;                                         // all workers are known
};

}  // namespace millrace::agent
