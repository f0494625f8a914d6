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
        follower.subscription_ =
            logs.subscribe(follower.runId_,
                           [news = follower.news_, onNews = std::move(onNews)](job::LogNews what) {
                               if (what == job::LogNews::kWorkers) {
                                   news->mayHaveOthers = true;
                               }
                               news->haveGrown = true;
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
    // Asked before reading, so that all that an ended run wrote is there.
    const std::uint64_t version = sources_.live.version();
    if (subscription_ != nullptr && std::exchange(version_, version) != version) {
        isOver_ = hasEnded();
    }
    Turn turn;
    if (!news_->haveGrown.exchange(false) && !isOver_) {
        return turn;
    }
    // Lines written just before the run ended may not have been reported yet.
    const bool isLastLook = isOver_ && !std::exchange(isListedAtEnd_, true);
    LogPage page = reader_.next(most, news_->mayHaveOthers.exchange(false) || isLastLook);
    turn.isMore = !page.isAtEnd;
    if (turn.isMore) {
        news_->haveGrown = true;
    }
    turn.chunk = {std::move(page.lines), std::move(page.cursor), isOver_ && page.isAtEnd,
                  page.droppedLines};
    return turn;
}

}  // namespace millrace::agent
