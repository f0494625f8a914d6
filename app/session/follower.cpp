#include "app/session/follower.h"

#include <algorithm>
#include <utility>

#include "backend/core/thread.h"

namespace millrace::session {
namespace {

// A metric that is rarer than others (evaluation) may arrive after later steps of those: so many
// steps are asked for again and what is known is left out.
constexpr std::int64_t kOverlapSteps = 1'000;

bool isWorthTrying(const Status& status) {
    switch (status.code()) {
        case absl::StatusCode::kOk:
        case absl::StatusCode::kUnavailable:
        case absl::StatusCode::kCancelled:
        case absl::StatusCode::kDeadlineExceeded:
        case absl::StatusCode::kAborted:
            return true;
        default:
            return false;
    }
}

}  // namespace

Follower::Follower(client::DaemonClient& client, const Clock& clock, FollowOptions options)
    : client_(client), clock_(clock), options_(std::move(options)) {
    const auto add = [&](Kind kind, const std::string& runId) {
        feeds_.push_back(std::make_unique<Feed>());
        feeds_.back()->kind = kind;
        feeds_.back()->runId = runId;
    };
    if (options_.withRuns) {
        add(Kind::kRuns, "");
    }
    for (const std::string& id : options_.runIds) {
        if (options_.withMetrics) {
            add(Kind::kMetrics, id);
        }
        if (options_.withLogs) {
            add(Kind::kLogs, id);
        }
    }
    if (options_.withTelemetry) {
        add(Kind::kTelemetry, "");
    }
    supervisor_ = startThread("mr-follow", [this](std::stop_token stop) { run(stop); });
}

Follower::~Follower() {
    events_.close();
    {
        MutexLock lock(mutex_);
        isStopping_ = true;
    }
    supervisor_.request_stop();
    changed_.notifyAll();
    supervisor_.join();
    for (const auto& feed : feeds_) {
        feed->stream.reset();
    }
}

std::optional<FollowEvent> Follower::next(std::chrono::milliseconds timeout) {
    return events_.popFor(timeout);
}

void Follower::emit(FollowEvent event) {
    events_.push(std::move(event));
}

void Follower::setLink(LinkState state, std::string sentence, int tries) {
    Link link;
    {
        MutexLock lock(mutex_);
        const bool isNew = link_.state != state || link_.tries != tries;
        if (!isNew) {
            return;
        }
        link_.sinceMs = link_.state == state ? link_.sinceMs : clock_.wallMs();
        link_.state = state;
        link_.sentence = std::move(sentence);
        link_.tries = tries;
        link = link_;
    }
    emit(LinkChanged{std::move(link)});
}

void Follower::ended(Feed& feed, const Status& status) {
    MutexLock lock(mutex_);
    feed.ended = status;
    changed_.notifyAll();
}

bool Follower::takeEnded(Feed& feed, Status& status) {
    MutexLock lock(mutex_);
    if (!feed.ended) {
        return false;
    }
    status = *std::exchange(feed.ended, std::nullopt);
    return true;
}

void Follower::heard(Feed& feed) {
    feed.sawItem = true;
    setLink(LinkState::kConnected, "", 0);
}

void Follower::run(std::stop_token stop) {
    bool saidEnd = false;
    while (!stop.stop_requested()) {
        // Telemetry never ends: it accompanies the runs.
        bool isAllDone = options_.withRuns || !options_.runIds.empty();
        for (const auto& feed : feeds_) {
            Status status;
            if (feed->isOpen && takeEnded(*feed, status)) {
                feed->stream.reset();
                feed->isOpen = false;
                settle(*feed, status);
            }
            if (!feed->isOpen && !feed->isDone && clock_.steadyNs() >= feed->nextTryNs) {
                open(*feed);
            }
            isAllDone = isAllDone && (feed->isDone || feed->kind == Kind::kTelemetry);
        }
        if (isAllDone && !std::exchange(saidEnd, true)) {
            emit(AllEnded{});
        }
        MutexLock lock(mutex_);
        const bool isWaiting = std::none_of(feeds_.begin(), feeds_.end(), [](const auto& feed) {
            return feed->isOpen && feed->ended.has_value();
        });
        if (!isStopping_ && isWaiting) {
            changed_.waitFor(mutex_, std::chrono::milliseconds(isAllDone ? 1'000 : 100));
        }
    }
}

void Follower::settle(Feed& feed, const Status& status) {
    const bool isComplete =
        feed.sawEnd || (feed.kind == Kind::kRuns && status.ok() && !options_.runIds.empty());
    if (isComplete) {
        feed.isDone = true;
        return;
    }
    if (!isWorthTrying(status)) {
        feed.isDone = true;
        if (feed.kind == Kind::kTelemetry && !options_.runIds.empty()) {
            return;  // the runs can be followed without it
        }
        if (status.code() == absl::StatusCode::kFailedPrecondition) {
            setLink(LinkState::kRefused, std::string(messageOf(status)), 0);
        }
        emit(Problem{status});
        return;
    }
    if (std::exchange(feed.sawItem, false)) {
        feed.backoff.reset();
    }
    feed.nextTryNs = clock_.steadyNs() + feed.backoff.nextMs() * 1'000'000;
    if (!status.ok()) {
        setLink(LinkState::kReconnecting, std::string(messageOf(status)), feed.backoff.tries());
    }
}

std::int64_t Follower::resumeStep(const Feed& feed) const {
    std::int64_t last = 0;
    for (const auto& [name, step] : feed.lastSteps) {
        last = std::max(last, step);
    }
    return std::max<std::int64_t>(0, last - kOverlapSteps);
}

void Follower::open(Feed& feed) {
    feed.isOpen = true;
    const auto onEnd = [this, &feed](const Status& status) { ended(feed, status); };
    switch (feed.kind) {
        case Kind::kRuns:
            feed.stream = client_.watchRuns(options_.runIds, {[this, &feed](client::RunUpdate u) {
                                                                  heard(feed);
                                                                  takeRun(std::move(u));
                                                              },
                                                              onEnd});
            break;
        case Kind::kMetrics:
            feed.stream = client_.watchMetrics(feed.runId, resumeStep(feed),
                                               {[this, &feed](client::MetricChunk chunk) {
                                                    heard(feed);
                                                    takeMetrics(feed, std::move(chunk));
                                                },
                                                onEnd});
            break;
        case Kind::kLogs:
            feed.stream = client_.logs(
                {feed.runId, options_.logWorkers, feed.logCursor.empty() ? options_.logTail : 0,
                 options_.followLogs, feed.logCursor},
                {[this, &feed](client::LogChunk chunk) {
                     heard(feed);
                     takeLogs(feed, std::move(chunk));
                 },
                 onEnd});
            break;
        case Kind::kTelemetry:
            feed.stream = client_.watchTelemetry("", {[this, &feed](client::NodeSample sample) {
                                                          heard(feed);
                                                          emit(NodeSampled{std::move(sample)});
                                                      },
                                                      onEnd});
            break;
    }
}

void Follower::takeRun(client::RunUpdate update) {
    if (update.isSnapshotEnd) {
        return;
    }
    if (update.isRemoved) {
        emit(RunRemoved{update.run.id});
    } else {
        emit(RunChanged{std::move(update.run)});
    }
}

void Follower::takeMetrics(Feed& feed, client::MetricChunk chunk) {
    feed.sawEnd = feed.sawEnd || chunk.isEnd;
    if (chunk.replacesAfterStep != 0) {
        const std::int64_t after = std::max<std::int64_t>(0, chunk.replacesAfterStep);
        for (auto& [name, step] : feed.lastSteps) {
            step = std::min(step, after);
        }
        emit(MetricsReplaced{feed.runId, chunk.replacesAfterStep});
    }
    std::vector<client::MetricPoint> fresh;
    for (client::MetricPoint& point : chunk.points) {
        const auto [last, isNew] = feed.lastSteps.try_emplace(point.name, -1);
        if (point.step > last->second) {
            last->second = point.step;
            fresh.push_back(std::move(point));
        }
    }
    if (!fresh.empty()) {
        emit(MetricsAdded{feed.runId, std::move(fresh)});
    }
}

void Follower::takeLogs(Feed& feed, client::LogChunk chunk) {
    feed.sawEnd = feed.sawEnd || chunk.isEnd;
    if (!chunk.cursor.empty()) {
        feed.logCursor = chunk.cursor;
    }
    if (!chunk.lines.empty() || chunk.droppedLines > 0) {
        emit(LogsAdded{feed.runId, std::move(chunk.lines), chunk.droppedLines});
    }
}

}  // namespace millrace::session
