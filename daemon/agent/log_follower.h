#pragma once
// LogFollower: a run's log for a stream: the lines that exist, then new ones, up to the run's end.
//
// It reads only when the logs have grown, lists workers only when there may be new ones, and asks
// the store only when the live table has changed. Following a run that logs nothing therefore costs
// nothing. Threads: one owner. Failure: as LogReader.
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
    /// The store that it reads, and the table that tells it of the run's end; all outlive the
    /// follower.
    struct Sources {
        const runs::RunStore& store;
        const LiveTable& live;
    };
    /// `query.isFollowing`: until the run's end; else until the end of the lines that exist.
    /// `onNews`: called when next() may return something, from any thread, until the follower is
    /// destroyed. A change of the live table counts too. kInvalidArgument for a cursor that is not
    /// valid.
    static Result<LogFollower> open(Sources sources, const job::WorkerLogs& logs, std::string runId,
                                    const LogQuery& query, std::function<void()> onNews);

    struct Turn {
        values::LogChunk chunk;  ///< without lines if there is nothing new
        bool isMore = false;     ///< call next() again at once
    };
    Turn next(std::size_t most);
    const std::string& runId() const { return runId_; }

 private:
    LogFollower(Sources sources, std::string runId, LogReader reader)
        : sources_(sources), runId_(std::move(runId)), reader_(std::move(reader)) {}
    bool hasEnded() const;

    /// News from the logs that next() has not processed.
    struct News {
        std::atomic<bool> haveGrown{true}, mayHaveOthers{true};
    };

    Sources sources_;
    std::string runId_;
    LogReader reader_;
    std::shared_ptr<News> news_ = std::make_shared<News>();
    job::LogSubscription subscription_;                                  // null: not following
    std::uint64_t version_ = std::numeric_limits<std::uint64_t>::max();  // of the live table
    bool isOver_ = false;                                                // no line can follow
    bool isListedAtEnd_ = false;                                         // all workers are known
};

}  // namespace millrace::agent
