#include "tests/support/fake_daemon_client.h"

#include <algorithm>
#include <utility>

#include "tests/support/fake_client.h"
#include "tests/support/fake_stream.h"
#include "tests/support/metric_lines.h"

namespace millrace::client {

constexpr std::size_t kChunk = 1'000;

namespace {

class FakeSubscription final : public Subscription {
 public:
    explicit FakeSubscription(std::shared_ptr<FakeStream> stream) : stream_(std::move(stream)) {}
    ~FakeSubscription() override { stream_->finish(); }
    void cancel() override { stream_->end(millrace::cancelled("cancelled")); }

 private:
    std::shared_ptr<FakeStream> stream_;
};

template <class T>
std::vector<std::vector<T>> chunksOf(std::vector<T> all) {
    std::vector<std::vector<T>> chunks;
    for (std::size_t at = 0; at < all.size(); at += kChunk) {
        const auto end =
            all.begin() + static_cast<std::ptrdiff_t>(std::min(all.size(), at + kChunk));
        chunks.emplace_back(all.begin() + static_cast<std::ptrdiff_t>(at), end);
    }
    return chunks;
}

}  // namespace

// Implements calls that need the store or can fail; FakeAnswers answers all others.
class FakeDaemonClient final : public FakeClient {
 public:
    FakeDaemonClient(FakeDaemon& daemon, std::string address)
        : FakeClient(daemon), daemon_(daemon), address_(std::move(address)) {}

    void cancelAll() override { daemon_.cancelled(isCancelled_); }
    std::string address() const override { return address_; }

    Result<values::Handshake> handshake() override {
        RETURN_IF_ERROR(enter("handshake"));
        MutexLock lock(daemon_.mutex_);
        if (daemon_.protocol_ > 1) {
            return failedPrecondition("the daemon at ", address_,
                                      " (millraced 9.0.0) speaks protocol ", daemon_.protocol_,
                                      ", this millrace speaks 1: update millrace");
        }
        return values::Handshake{"0.1.0", daemon_.protocol_, 0};
    }
    Result<values::RunPage> list(const values::ListRequest& request) override {
        RETURN_IF_ERROR(enter("list"));
        return daemon_.list(request);
    }
    Result<values::RunDetail> get(const std::string& run) override {
        RETURN_IF_ERROR(enter("get"));
        return daemon_.detail(run);
    }
    Result<values::RunSummary> stop(const std::string& run, int,
                                    const std::string& reason) override {
        RETURN_IF_ERROR(enter("stop"));
        return daemon_.change(run, [&](values::RunSummary& r) {
            r.state = values::RunState::kCancelled;
            r.exitReason = reason.empty() ? "stopped on request" : reason;
        });
    }
    Result<values::RunSummary> resume(const std::string& run, std::int64_t,
                                      const values::RankCount&) override {
        RETURN_IF_ERROR(enter("resume"));
        return daemon_.change(run,
                              [](values::RunSummary& r) { r.state = values::RunState::kQueued; });
    }
    Result<values::RemovedRun> remove(const std::string& run, bool isForGood) override {
        RETURN_IF_ERROR(enter("remove"));
        const auto isGone = [](values::RunSummary& r) { r.deletedMs = 1'700'000'000'000; };
        values::RemovedRun removed;
        ASSIGN_OR_RETURN(removed.run, daemon_.change(run, isGone));
        (isForGood ? removed.freedBytes : removed.heldBytes) = 1'200'000'000;
        removed.keepHours = 30 * 24;
        return removed;
    }
    Result<std::vector<values::NodeInfo>> nodes() override {
        RETURN_IF_ERROR(enter("nodes"));
        MutexLock lock(daemon_.mutex_);
        return daemon_.nodes_;
    }

    std::unique_ptr<Subscription> watchRuns(const std::vector<std::string>&,
                                            StreamHandler<values::RunUpdate> handler) override {
        return std::make_unique<FakeSubscription>(daemon_.openRuns(std::move(handler)));
    }
    std::unique_ptr<Subscription> watchMetrics(
        const values::MetricsRequest& request,
        StreamHandler<values::MetricChunk> handler) override {
        return std::make_unique<FakeSubscription>(
            daemon_.openMetrics(request.run, request.after, std::move(handler)));
    }
    std::unique_ptr<Subscription> logs(const values::LogsRequest& request,
                                       StreamHandler<values::LogChunk> handler) override {
        return std::make_unique<FakeSubscription>(daemon_.openLogs(request, std::move(handler)));
    }
    std::unique_ptr<Subscription> watchTelemetry(
        const std::string&, StreamHandler<values::NodeSample> handler) override {
        return std::make_unique<FakeSubscription>(daemon_.openTelemetry(std::move(handler)));
    }

 private:
    Status enter(const std::string& call, const std::stop_token& stop = {}) override {
        return daemon_.enter(call, isCancelled_, stop);
    }
    Result<values::RunSummary> change(
        const std::string& run, const std::function<void(values::RunSummary&)>& what) override {
        return daemon_.change(run, what);
    }

    FakeDaemon& daemon_;
    const std::string address_;
    bool isCancelled_ = false;  // guarded by the daemon's mutex
};

FakeDaemon::FakeDaemon() = default;
FakeDaemon::~FakeDaemon() = default;

std::unique_ptr<DaemonClient> FakeDaemon::makeClient(const std::string& address) {
    return std::make_unique<FakeDaemonClient>(*this, address);
}

Status FakeDaemon::reachableLocked() const {
    return isAway_ ? unavailable("no daemon answers at unix:/fake.sock (nobody listens there)")
                   : okStatus();
}

Status FakeDaemon::enter(const std::string& call, const bool& isCancelled,
                         const std::stop_token& stop) {
    const std::stop_callback onStop(stop, [this] {
        MutexLock lock(mutex_);
        changed_.notifyAll();
    });
    MutexLock lock(mutex_);
    ++calls_[call];
    ++numHanging_;
    while (hanging_.contains(call) && !isCancelled && !stop.stop_requested()) {
        changed_.wait(mutex_);
    }
    --numHanging_;
    if (isCancelled || stop.stop_requested()) {
        return millrace::cancelled("the connection was given up");
    }
    RETURN_IF_ERROR(reachableLocked());
    const auto failure = failures_.find(call);
    return failure == failures_.end() ? okStatus() : failure->second;
}

void FakeDaemon::cancelled(bool& flag) {
    MutexLock lock(mutex_);
    flag = true;
    changed_.notifyAll();
}

// Calls `what` with every open stream of the kind, and of the run where one is given.
void FakeDaemon::tellLocked(const std::string& kind, const std::string& run,
                            const std::function<void(FakeStream&)>& what) {
    std::erase_if(streams_, [](const Stream& stream) { return stream.feed.expired(); });
    for (const Stream& stream : streams_) {
        const auto feed = stream.feed.lock();
        if (feed != nullptr && (kind.empty() || stream.kind == kind) &&
            (run.empty() || stream.run == run)) {
            what(*feed);
        }
    }
}

void FakeDaemon::storeLocked(values::RunSummary run) {
    run.revision = ++revision_;
    values::RunDetail& detail = runs_[run.id];
    detail.summary = run;
    run.params.clear();
    tellLocked("runs", "", [&](FakeStream& feed) {
        static_cast<FakeFeed<values::RunUpdate>&>(feed).add({run, run.deletedMs != 0, false});
    });
}

void FakeDaemon::putRun(values::RunSummary run) {
    MutexLock lock(mutex_);
    storeLocked(std::move(run));
}

void FakeDaemon::putDetail(values::RunDetail detail) {
    MutexLock lock(mutex_);
    const values::RunSummary summary = detail.summary;
    runs_[summary.id] = std::move(detail);
    storeLocked(summary);
}

void FakeDaemon::addRuns(int count) {
    MutexLock lock(mutex_);
    for (int i = 0; i < count; ++i) {
        const std::string digits = std::to_string(100'000 + i).substr(1);
        values::RunSummary run;
        run.id = "r-" + digits;
        run.uid = std::string(27, '0') + digits;
        run.name = "movielens-dlrm";
        run.owner = "ada";
        run.state = values::RunState::kFinished;
        run.attempt = 1;
        run.createdMs = 1'700'000'000'000 + i * 60'000;
        run.startedMs = run.createdMs + 1'000;
        run.endedMs = run.startedMs + 12'500 + i;
        run.progress.step = run.progress.stepsTotal = 630;
        run.rowsTrained = 241'683 + i;
        run.latestMetrics = {{"eval.auc", 0.7 + 0.00001 * i, 630, run.endedMs, 2},
                             {"loss", 0.6 - 0.00001 * i, 630, run.endedMs, 2}};
        run.model = "dlrm";
        run.dataset = "ratings.csv";
        run.params = {{"batch.size", std::to_string(64 << (i % 4))},
                      {"batch.seed", std::to_string(i % 7)},
                      {"model.type", "dlrm"},
                      {"optimizer.rate", i % 2 == 0 ? "0.01" : "0.003"},
                      {"train.epochs", "3"}};
        storeLocked(std::move(run));
    }
}

void FakeDaemon::removeRun(const std::string& id) {
    change(id, [](values::RunSummary& run) { run.deletedMs = 1'700'000'000'000; }).IgnoreError();
}

void FakeDaemon::restoreRun(const std::string& id) {
    change(id, [](values::RunSummary& run) { run.deletedMs = 0; }).IgnoreError();
}

void FakeDaemon::setState(const std::string& id, values::RunState state) {
    change(id, [state](values::RunSummary& run) { run.state = state; }).IgnoreError();
    if (!isEnded(state)) {
        return;
    }
    MutexLock lock(mutex_);
    tellLocked("metrics", id, [](FakeStream& feed) {
        static_cast<FakeFeed<values::MetricChunk>&>(feed).add(chunkOf({}, true));
        feed.end(okStatus(), true);
    });
    tellLocked("logs", id, [](FakeStream& feed) {
        static_cast<FakeFeed<values::LogChunk>&>(feed).add({{}, "", true, 0});
        feed.end(okStatus(), true);
    });
}

std::vector<values::RunSummary> FakeDaemon::runs() const {
    MutexLock lock(mutex_);
    std::vector<values::RunSummary> all;
    for (const auto& [id, detail] : runs_) {
        all.push_back(detail.summary);
    }
    return all;
}

Result<values::RunSummary> FakeDaemon::change(
    const std::string& id, const std::function<void(values::RunSummary&)>& what) {
    MutexLock lock(mutex_);
    const auto found = runs_.find(id);
    if (found == runs_.end()) {
        return notFound("no run '", id, "'");
    }
    values::RunSummary run = found->second.summary;
    what(run);
    storeLocked(run);
    return found->second.summary;
}

Result<values::RunDetail> FakeDaemon::detail(const std::string& run) {
    MutexLock lock(mutex_);
    const auto found = runs_.find(run);
    if (found == runs_.end()) {
        return notFound("no run '", run, "'");
    }
    return found->second;
}

Result<values::RunPage> FakeDaemon::list(const values::ListRequest& request) {
    MutexLock lock(mutex_);
    lists_.push_back(request);
    std::vector<const values::RunSummary*> all;
    for (const auto& [id, detail] : runs_) {
        const values::RunSummary& run = detail.summary;
        const bool isSeen =
            request.changesSince > 0
                ? run.revision > request.changesSince
                : request.view == values::RunView::kAll ||
                      (run.deletedMs == 0) != (request.view == values::RunView::kDeleted);
        if (isSeen && (request.filter.empty() || !onFilter || onFilter(request.filter, run))) {
            all.push_back(&run);
        }
    }
    std::sort(all.begin(), all.end(), [](const values::RunSummary* a, const values::RunSummary* b) {
        return std::pair(a->createdMs, a->id) > std::pair(b->createdMs, b->id);
    });
    values::RunPage page;
    page.total = static_cast<std::int64_t>(all.size());
    page.revision = revision_;
    std::size_t from = request.pageToken.empty() ? 0 : std::stoul(request.pageToken);
    const std::size_t size =
        request.pageSize > 0 ? static_cast<std::size_t>(request.pageSize) : 100;
    for (; from < all.size() && page.runs.size() < size; ++from) {
        page.runs.push_back(*all[from]);
        if (!request.withParams) {
            page.runs.back().params.clear();
        }
    }
    page.nextPageToken = from < all.size() ? std::to_string(from) : "";
    return page;
}

void FakeDaemon::addPoints(const std::string& run, std::vector<values::RunFigure> points) {
    MutexLock lock(mutex_);
    Told& told = told_[run];
    for (const auto& part : chunksOf(std::move(points))) {
        values::MetricChunk chunk = chunkOf(part, false, std::nullopt, told.nextLine);
        chunk.cursor.attempt = told.attempt;
        chunk.isCaughtUp = true;
        told.nextLine += std::ssize(part);
        told.names.insert(chunk.names.begin(), chunk.names.end());
        told.lines.insert(told.lines.end(), chunk.lines.begin(), chunk.lines.end());
        tellLocked("metrics", run, [&](FakeStream& feed) {
            static_cast<FakeFeed<values::MetricChunk>&>(feed).add(chunk);
        });
    }
}

void FakeDaemon::beginAttempt(const std::string& run, std::int64_t step) {
    MutexLock lock(mutex_);
    Told& told = told_[run];
    std::erase_if(told.lines, [step](const auto& line) { return line.step > step; });
    told.resumes.push_back(step);
    ++told.attempt;
    values::MetricChunk chunk = chunkOf({}, false, step, told.nextLine);
    chunk.cursor.attempt = told.attempt;
    tellLocked("metrics", run, [&](FakeStream& feed) {
        static_cast<FakeFeed<values::MetricChunk>&>(feed).add(chunk);
    });
}

void FakeDaemon::addLines(const std::string& run, std::vector<values::LogLine> lines) {
    MutexLock lock(mutex_);
    auto& stored = lines_[run];
    for (auto& chunk : chunksOf(std::move(lines))) {
        stored.insert(stored.end(), chunk.begin(), chunk.end());
        tellLocked("logs", run, [&](FakeStream& feed) {
            static_cast<FakeFeed<values::LogChunk>&>(feed).add(
                {chunk, std::to_string(stored.size()), false, 0});
        });
    }
}

void FakeDaemon::tellOld(values::RunSummary run) {
    MutexLock lock(mutex_);
    tellLocked("runs", "", [&](FakeStream& feed) {
        static_cast<FakeFeed<values::RunUpdate>&>(feed).add({run, false, false});
    });
}

void FakeDaemon::setNodes(std::vector<values::NodeInfo> nodes) {
    MutexLock lock(mutex_);
    nodes_ = std::move(nodes);
}

void FakeDaemon::sample(values::NodeSample sample) {
    MutexLock lock(mutex_);
    tellLocked("telemetry", "", [&](FakeStream& feed) {
        static_cast<FakeFeed<values::NodeSample>&>(feed).add(sample);
    });
}

void FakeDaemon::goAway() {
    MutexLock lock(mutex_);
    isAway_ = true;
    const Status status = reachableLocked();
    tellLocked("", "", [&](FakeStream& feed) { feed.end(status); });
    streams_.clear();
}

void FakeDaemon::comeBack() {
    MutexLock lock(mutex_);
    isAway_ = false;
}

void FakeDaemon::forgetEverything() {
    MutexLock lock(mutex_);
    runs_.clear();
    told_.clear();
    lines_.clear();
    revision_ = 0;
}

void FakeDaemon::fail(const std::string& call, Status status) {
    MutexLock lock(mutex_);
    failures_.erase(call);
    if (!status.ok()) {
        failures_[call] = std::move(status);
    }
}

void FakeDaemon::hang(const std::string& call) {
    MutexLock lock(mutex_);
    hanging_.insert(call);
}

void FakeDaemon::release(const std::string& call) {
    MutexLock lock(mutex_);
    hanging_.erase(call);
    changed_.notifyAll();
}

void FakeDaemon::speakProtocol(std::uint32_t version) {
    MutexLock lock(mutex_);
    protocol_ = version;
}

int FakeDaemon::numCalls(const std::string& call) const {
    MutexLock lock(mutex_);
    const auto found = calls_.find(call);
    return found == calls_.end() ? 0 : found->second;
}

int FakeDaemon::numHanging() const {
    MutexLock lock(mutex_);
    return numHanging_;
}

int FakeDaemon::numStreams(const std::string& kind) const {
    MutexLock lock(mutex_);
    return static_cast<int>(std::count_if(streams_.begin(), streams_.end(), [&](const Stream& s) {
        return s.kind == kind && !s.feed.expired();
    }));
}

std::vector<values::ListRequest> FakeDaemon::lists() const {
    MutexLock lock(mutex_);
    return lists_;
}

std::vector<std::int64_t> FakeDaemon::metricStarts() const {
    MutexLock lock(mutex_);
    return metricStarts_;
}

std::vector<values::LogsRequest> FakeDaemon::logRequests() const {
    MutexLock lock(mutex_);
    return logRequests_;
}

// Adds the stream; a stream that cannot be opened ends at once.
void FakeDaemon::admitLocked(const std::string& kind, const std::string& run,
                             const std::shared_ptr<FakeStream>& feed) {
    if (isAway_) {
        feed->end(reachableLocked());
        return;
    }
    const auto failure = failures_.find(kind);
    if (failure != failures_.end()) {
        feed->end(failure->second);
        return;
    }
    streams_.push_back({feed, kind, run});
}

std::shared_ptr<FakeStream> FakeDaemon::openRuns(StreamHandler<values::RunUpdate> handler) {
    auto feed = std::make_shared<FakeFeed<values::RunUpdate>>(std::move(handler));
    MutexLock lock(mutex_);
    for (auto one = runs_.rbegin(); one != runs_.rend() && feed->size() < 100; ++one) {
        values::RunSummary run = one->second.summary;
        run.params.clear();
        if (run.deletedMs == 0) {
            feed->add({std::move(run), false, false});
        }
    }
    feed->add({{}, false, true});
    admitLocked("runs", "", feed);
    return feed;
}

// The stream reports an attempt of a run when it begins, except the first.
std::shared_ptr<FakeStream> FakeDaemon::openMetrics(const std::string& run,
                                                    const values::MetricCursor& after,
                                                    StreamHandler<values::MetricChunk> handler) {
    auto feed = std::make_shared<FakeFeed<values::MetricChunk>>(std::move(handler));
    MutexLock lock(mutex_);
    metricStarts_.push_back(after.line);
    const Told& told = told_[run];
    values::MetricChunk chunk;
    chunk.names = told.names;
    chunk.cursor = {told.attempt, told.nextLine - 1};
    chunk.isCaughtUp = true;
    for (std::size_t i = static_cast<std::size_t>(std::max(after.attempt, 1)) - 1;
         after.line > 0 && i < told.resumes.size(); ++i) {
        chunk.replacesAfterStep =
            std::min(chunk.replacesAfterStep.value_or(INT64_MAX), told.resumes[i]);
    }
    for (const values::MetricLine& line : told.lines) {
        if (line.number > after.line) {
            chunk.lines.push_back(line);
        }
    }
    feed->add(std::move(chunk));
    admitLocked("metrics", run, feed);
    const auto found = runs_.find(run);
    if (!isAway_ && found != runs_.end() && isEnded(found->second.summary.state)) {
        feed->add(chunkOf({}, true, std::nullopt, told.nextLine));
        feed->end(okStatus(), true);
    }
    return feed;
}

std::shared_ptr<FakeStream> FakeDaemon::openLogs(const values::LogsRequest& request,
                                                 StreamHandler<values::LogChunk> handler) {
    auto feed = std::make_shared<FakeFeed<values::LogChunk>>(std::move(handler));
    MutexLock lock(mutex_);
    logRequests_.push_back(request);
    const std::vector<values::LogLine>& all = lines_[request.run];
    const std::size_t tail = static_cast<std::size_t>(request.tailLines);
    std::size_t from = tail > 0 && all.size() > tail ? all.size() - tail : 0;
    from = request.cursor.empty() ? from : std::stoul(request.cursor);
    std::vector<values::LogLine> lines(
        all.begin() + static_cast<std::ptrdiff_t>(std::min(from, all.size())), all.end());
    for (auto& chunk : chunksOf(std::move(lines))) {
        from += chunk.size();
        feed->add({std::move(chunk), std::to_string(from), false, 0});
    }
    admitLocked("logs", request.run, feed);
    const auto found = runs_.find(request.run);
    if (!isAway_ && found != runs_.end() && isEnded(found->second.summary.state)) {
        feed->add({{}, "", true, 0});
        feed->end(okStatus(), true);
    }
    return feed;
}

std::shared_ptr<FakeStream> FakeDaemon::openTelemetry(StreamHandler<values::NodeSample> handler) {
    auto feed = std::make_shared<FakeFeed<values::NodeSample>>(std::move(handler));
    MutexLock lock(mutex_);
    admitLocked("telemetry", "", feed);
    return feed;
}

}  // namespace millrace::client
