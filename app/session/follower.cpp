#include "app/session/follower.h"

#include <algorithm>
#include <utility>

#include "backend/core/thread.h"

namespace millrace::session {
namespace {

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

bool isRefusal(const Status& status) {
    return status.code() == absl::StatusCode::kFailedPrecondition ||
           status.code() == absl::StatusCode::kPermissionDenied ||
           status.code() == absl::StatusCode::kUnauthenticated;
}

}  // namespace

Follower::Follower(client::DaemonClient& client, const Clock& clock, FollowOptions options)
    : Follower(client, clock, std::move(options), nullptr) {}

Follower::Follower(client::DaemonClient& client, const Clock& clock, FollowOptions options,
                   Sink sink)
    : client_(client), clock_(clock), options_(std::move(options)), sink_(std::move(sink)) {
    const auto add = [&](Kind kind, const std::string& runId) {
        feeds_.push_back(std::make_unique<Feed>());
        feeds_.back()->kind = kind;
        feeds_.back()->runId = runId;
        feeds_.back()->names = std::make_shared<const values::MetricNames>();
        const auto known = options_.metricsAfter.find(runId);
        if (known != options_.metricsAfter.end()) {
            feeds_.back()->metricCursor = known->second;
        }
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

void Follower::retryNow() {
    MutexLock lock(mutex_);
    isHurried_ = true;
    changed_.notifyAll();
}

void Follower::beginAgain(const Status& status) {
    MutexLock lock(mutex_);
    lost_ = status;
    changed_.notifyAll();
}

void Follower::tell(FollowEvent event) {
    if (sink_ != nullptr) {
        sink_(std::move(event));
    } else {
        events_.push(std::move(event));
    }
}

void Follower::setLink(LinkState state, std::string sentence, int tries) {
    Link link;
    {
        MutexLock lock(mutex_);
        const bool isNew = link_.state != state || link_.tries != tries ||
                           (state == LinkState::kRefused && link_.sentence != sentence);
        if (!isNew) {
            return;
        }
        link_.sinceMs = link_.state == state ? link_.sinceMs : clock_.wallMs();
        link_.state = state;
        link_.sentence = std::move(sentence);
        link_.tries = tries;
        link = link_;
    }
    tell(LinkChanged{std::move(link)});
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

// Closes streams that ended and opens those that are due. Returns true when nothing more can come
// of this feed.
bool Follower::visit(Feed& feed) {
    Status status;
    if (feed.isOpen && takeEnded(feed, status)) {
        feed.stream.reset();
        feed.isOpen = false;
        settle(feed, status);
    }
    const bool mayOpen = options_.greet == nullptr || isGreeted_;
    if (mayOpen && !feed.isOpen && !feed.isDone && clock_.steadyNs() >= feed.nextTryNs) {
        open(feed);
    }
    return feed.isDone || feed.kind == Kind::kTelemetry;  // telemetry never ends: it accompanies
                                                          // runs
}

bool Follower::mayAskNodes() const {
    return options_.withNodes && (options_.greet == nullptr || isGreeted_);
}

// Retries a failed request after the usual pause; the streams report a lost connection.
void Follower::askNodes() {
    constexpr std::int64_t kPaceNs = 2'000'000'000;
    if (!mayAskNodes() || clock_.steadyNs() < nextNodesNs_) {
        return;
    }
    Result<std::vector<values::NodeInfo>> nodes = client_.nodes();
    nextNodesNs_ = clock_.steadyNs() + kPaceNs;
    if (nodes.ok()) {
        tell(NodesListed{*std::move(nodes)});
    }
}

// Greets the daemon; the streams are opened afterwards.
void Follower::greet() {
    if (isGreeted_ || clock_.steadyNs() < nextGreetingNs_) {
        return;
    }
    const Status status = options_.greet();
    if (!status.ok()) {
        lose(status);
        return;
    }
    isGreeted_ = true;
    backoff_.reset();
    setLink(LinkState::kConnected, "", 0);
}

// Ends what is left of the connection; the backoff decides when the next greeting is due.
void Follower::lose(const Status& status) {
    for (const auto& feed : feeds_) {
        if (feed->stream != nullptr) {
            feed->stream->cancel();
            feed->stream.reset();  // joins its thread: onEnd has been called
        }
        Status own;
        takeEnded(*feed, own);
        feed->isOpen = feed->isDone = false;
        feed->nextTryNs = 0;
    }
    isGreeted_ = false;
    const bool isRefused = isRefusal(status);
    const std::int64_t pauseMs = isRefused ? Backoff::kRefusedMs : backoff_.nextMs();
    nextGreetingNs_ = clock_.steadyNs() + pauseMs * 1'000'000;
    setLink(isRefused ? LinkState::kRefused : LinkState::kReconnecting,
            std::string(messageOf(status)), backoff_.tries());
}

bool Follower::hasLost(Status& status) {
    MutexLock lock(mutex_);
    if (!lost_) {
        return false;
    }
    status = *std::exchange(lost_, std::nullopt);
    return isGreeted_;
}

void Follower::run(std::stop_token stop) {
    bool saidEnd = false;
    while (!stop.stop_requested()) {
        if (options_.greet != nullptr) {
            Status status;
            if (hasLost(status)) {
                lose(status);
            }
            greet();
        }
        bool isAllDone = options_.withRuns || !options_.runIds.empty();
        for (const auto& feed : feeds_) {
            isAllDone = visit(*feed) && isAllDone;
        }
        if (isAllDone && !std::exchange(saidEnd, true)) {
            tell(AllEnded{});
        }
        askNodes();
        rest();
    }
}

// The time until the next retry is due; a minute if none is pending.
std::chrono::milliseconds Follower::untilNextTry() const {
    constexpr std::int64_t kMinuteNs = 60'000'000'000;
    std::int64_t dueNs = clock_.steadyNs() + kMinuteNs;
    if (options_.greet != nullptr && !isGreeted_) {
        dueNs = std::min(dueNs, nextGreetingNs_);
    }
    if (mayAskNodes()) {
        dueNs = std::min(dueNs, nextNodesNs_);
    }
    for (const auto& feed : feeds_) {
        const bool isWaiting = !feed->isOpen && !feed->isDone;
        dueNs = isWaiting && feed->nextTryNs > 0 ? std::min(dueNs, feed->nextTryNs) : dueNs;
    }
    const std::int64_t leftMs = (dueNs - clock_.steadyNs()) / 1'000'000 + 1;
    return std::chrono::milliseconds(std::max<std::int64_t>(1, leftMs));
}

// Waits until a stream ends or its next retry is due.
void Follower::rest() {
    const std::chrono::milliseconds wait = untilNextTry();
    MutexLock lock(mutex_);
    const bool hasEnded = std::any_of(feeds_.begin(), feeds_.end(), [](const auto& feed) {
        return feed->isOpen && feed->ended.has_value();
    });
    if (!isStopping_ && !hasEnded && !isHurried_ && !lost_) {
        changed_.waitFor(mutex_, wait);
    }
    if (std::exchange(isHurried_, false)) {
        nextGreetingNs_ = 0;
        for (const auto& feed : feeds_) {
            feed->nextTryNs = 0;
        }
    }
}

void Follower::settle(Feed& feed, const Status& status) {
    if (options_.greet != nullptr) {
        if (feed.kind == Kind::kTelemetry && status.code() == absl::StatusCode::kUnimplemented) {
            feed.isDone = true;  // a daemon without telemetry is tolerated
        } else {
            lose(status.ok() ? unavailable("the daemon at ", client_.address(), " said goodbye")
                             : status);
        }
        return;
    }
    const bool isComplete =
        feed.sawEnd || (feed.kind == Kind::kRuns && status.ok() && !options_.runIds.empty());
    if (isComplete) {
        feed.isDone = true;
        if (feed.kind == Kind::kMetrics || feed.kind == Kind::kLogs) {
            tell(StreamEnded{feed.runId, feed.kind == Kind::kLogs});
        }
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
        tell(Problem{status, feed.runId, feed.kind == Kind::kLogs});
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

void Follower::open(Feed& feed) {
    feed.isOpen = true;
    const auto onEnd = [this, &feed](const Status& status) { ended(feed, status); };
    switch (feed.kind) {
        case Kind::kRuns:
            feed.stream = client_.watchRuns(options_.runIds, {[this, &feed](values::RunUpdate u) {
                                                                  heard(feed);
                                                                  takeRun(std::move(u));
                                                              },
                                                              onEnd});
            break;
        case Kind::kMetrics:
            feed.stream = client_.watchMetrics(
                {.run = feed.runId, .withSystem = options_.withSystem, .after = feed.metricCursor},
                {[this, &feed](values::MetricChunk chunk) {
                     heard(feed);
                     takeMetrics(feed, std::move(chunk));
                 },
                 onEnd});
            break;
        case Kind::kLogs:
            feed.stream = client_.logs(
                {feed.runId, options_.logWorkers, feed.logCursor.empty() ? options_.logTail : 0,
                 options_.followLogs, feed.logCursor, 0, options_.logLevelMin},
                {[this, &feed](values::LogChunk chunk) {
                     heard(feed);
                     takeLogs(feed, std::move(chunk));
                 },
                 onEnd});
            break;
        case Kind::kTelemetry:
            feed.stream = client_.watchTelemetry("", {[this, &feed](values::NodeSample sample) {
                                                          heard(feed);
                                                          tell(NodeSampled{std::move(sample)});
                                                      },
                                                      onEnd});
            break;
    }
}

void Follower::takeRun(values::RunUpdate update) {
    if (update.isSnapshotEnd) {
        tell(SnapshotEnded{});
        return;
    }
    if (update.isRemoved) {
        tell(RunRemoved{std::move(update.run)});
    } else {
        tell(RunChanged{std::move(update.run)});
    }
}

// All that the daemon sends is new to this reader: the cursor records what was read, even if the
// connection was lost in between.
void Follower::takeMetrics(Feed& feed, values::MetricChunk chunk) {
    feed.sawEnd = feed.sawEnd || chunk.isEnd;
    feed.metricCursor = chunk.cursor;
    if (chunk.replacesAfterStep) {
        tell(MetricsReplaced{feed.runId, *chunk.replacesAfterStep});
    }
    if (!chunk.names.empty()) {
        auto names = std::make_shared<values::MetricNames>(*feed.names);
        names->merge(chunk.names);
        feed.names = std::move(names);
    }
    const bool isNews = chunk.isCaughtUp && !std::exchange(feed.hasCaughtUp, true);
    if (!chunk.lines.empty() || isNews) {
        tell(MetricsAdded{feed.runId, feed.names, std::move(chunk.lines), feed.hasCaughtUp});
    }
}

void Follower::takeLogs(Feed& feed, values::LogChunk chunk) {
    feed.sawEnd = feed.sawEnd || chunk.isEnd;
    if (!chunk.cursor.empty()) {
        feed.logCursor = chunk.cursor;
    }
    if (!chunk.lines.empty() || chunk.droppedLines > 0) {
        tell(LogsAdded{feed.runId, std::move(chunk.lines), chunk.droppedLines});
    }
}

}  // namespace millrace::session
