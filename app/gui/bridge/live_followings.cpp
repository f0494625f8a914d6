#include "app/gui/bridge/live_followings.h"

#include <utility>
#include <variant>

#include "backend/core/thread.h"

namespace millrace::gui {

LiveFollowings::LiveFollowings(client::DaemonClient& client, Mailbox& mailbox)
    : client_(client),
      mailbox_(mailbox),
      reaper_(startThread("mr-reap", [this](std::stop_token stop) { reap(std::move(stop)); })) {}

LiveFollowings::~LiveFollowings() {
    for (auto& [following, live] : all_) {
        live->hasEnded = true;
        live->follower.reset();
    }
    reaper_.request_stop();
    {
        MutexLock lock(mutex_);
        isEnding_ = true;
        changed_.notifyAll();
    }
    reaper_.join();
}

std::uint64_t LiveFollowings::followMetrics(std::vector<std::string> runs, MetricCursors after,
                                            OnMetrics onMetrics) {
    session::FollowOptions options;
    options.runIds = std::move(runs);
    options.withRuns = false;
    options.withMetrics = true;
    options.metricsAfter = std::move(after);
    options.withSystem = true;
    auto live = std::make_shared<Live>();
    live->onMetrics = std::move(onMetrics);
    return begin(std::move(options), std::move(live));
}

std::uint64_t LiveFollowings::followLogs(const std::string& run, int tailLines, OnLogs onLogs) {
    session::FollowOptions options;
    options.runIds = {run};
    options.withRuns = false;
    options.withLogs = true;
    options.logTail = tailLines;
    auto live = std::make_shared<Live>();
    live->onLogs = std::move(onLogs);
    return begin(std::move(options), std::move(live));
}

std::uint64_t LiveFollowings::begin(session::FollowOptions options, std::shared_ptr<Live> live) {
    const std::uint64_t following = ++lastId_;
    mailbox_.open(following);
    live->follower = std::make_unique<session::Follower>(
        client_, clock_, std::move(options),
        [this, following](session::FollowEvent event) { take(following, std::move(event)); });
    all_.emplace(following, std::move(live));
    return following;
}

// Called on the follower's threads.
void LiveFollowings::take(std::uint64_t following, session::FollowEvent event) {
    if (auto* added = std::get_if<session::MetricsAdded>(&event)) {
        mailbox_.addMetrics(following, std::move(*added));
    } else if (const auto* replaced = std::get_if<session::MetricsReplaced>(&event)) {
        mailbox_.dropAfter(following, replaced->runId, replaced->afterStep);
    } else if (auto* lines = std::get_if<session::LogsAdded>(&event)) {
        mailbox_.addLines(following, std::move(lines->lines), lines->droppedLines);
    } else if (const auto* end = std::get_if<session::StreamEnded>(&event)) {
        end->isLog ? mailbox_.endLogs(following) : mailbox_.endMetrics(following, end->runId);
    } else if (const auto* problem = std::get_if<session::Problem>(&event)) {
        // The run does not exist any more: no more data will come.
        problem->isLog ? mailbox_.endLogs(following)
                       : mailbox_.endMetrics(following, problem->runId);
    }
}

void LiveFollowings::end(std::uint64_t following) {
    const auto found = all_.find(following);
    if (found == all_.end()) {
        return;
    }
    mailbox_.close(following);
    found->second->hasEnded = true;
    MutexLock lock(mutex_);
    dead_.push_back(std::move(found->second->follower));
    all_.erase(found);
    changed_.notifyAll();
}

void LiveFollowings::reap(std::stop_token) {
    while (true) {
        std::vector<std::unique_ptr<session::Follower>> dead;
        {
            MutexLock lock(mutex_);
            while (dead_.empty() && !isEnding_) {
                changed_.wait(mutex_);
            }
            dead.swap(dead_);
        }
        if (dead.empty()) {
            return;
        }
    }
}

void LiveFollowings::retryNow() {
    for (const auto& [following, live] : all_) {
        live->follower->retryNow();
    }
}

void LiveFollowings::deliver(std::uint64_t following, LiveInbox::Content content) {
    const auto found = all_.find(following);
    if (found == all_.end()) {
        return;
    }
    const std::shared_ptr<Live> live = found->second;
    for (const auto& [run, delta] : content.metrics) {
        if (live->hasEnded || live->onMetrics == nullptr) {
            break;
        }
        live->onMetrics(run, delta);
    }
    if (content.hasLogs && !live->hasEnded && live->onLogs != nullptr) {
        live->onLogs(content.logs);
    }
}

}  // namespace millrace::gui
