#include "daemon/agent/log_follower.h"

#include <utility>

#include "daemon/agent/run_watch.h"

namespace millrace::agent {

Result<LogFollower> LogFollower::open(Sources sources, const job::WorkerLogs& logs,
                                      std::string runId, const LogQuery& query,
                                      std::function<void()> onNews) {
    ASSIGN_OR_RETURN(LogReader reader, LogReader::open(logs, runId, query));
    LogFollower follower(sources, std::move(runId), std::move(reader));
    follower.isOver_ = !query.isFollowing;
    if (query.isFollowing) {
        follower.subscription_ = logs.subscribe(
            follower.runId_, [hasGrown = follower.hasGrown_, onNews = std::move(onNews)] {
                *hasGrown = true;
                onNews();
            });
    }
    return follower;
}

bool LogFollower::hasEnded() const {
    const Result<values::RunSummary> run = readSummary(sources_.store, runId_);
    return !run.ok() || values::isEnded(run->state);
}

LogFollower::Turn LogFollower::next(std::size_t most) {
    // Asked before reading: what an ended run wrote is all there then.
    const std::uint64_t version = sources_.live.version();
    if (subscription_ != nullptr && std::exchange(version_, version) != version) {
        isOver_ = hasEnded();
    }
    Turn turn;
    if (!hasGrown_->exchange(false) && !isOver_) {
        return turn;
    }
    LogPage page = reader_.next(most);
    turn.isMore = !page.isAtEnd;
    if (turn.isMore) {
        *hasGrown_ = true;
    }
    turn.chunk = {std::move(page.lines), std::move(page.cursor), isOver_ && page.isAtEnd,
                  page.droppedLines};
    return turn;
}

}  // namespace millrace::agent
