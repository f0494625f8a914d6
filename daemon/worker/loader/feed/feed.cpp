#include "daemon/worker/loader/feed/feed.h"

#include <algorithm>
#include <chrono>
#include <map>

#include <unistd.h>

#include "backend/core/clock.h"
#include "backend/core/log.h"
#include "backend/rank/rank_client.h"
#include "backend/ring/feed_server.h"
#include "backend/segment/arrow_start.h"
#include "backend/stream/receipt.h"
#include "backend/values/metric_names.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/feed/events.h"
#include "daemon/worker/loader/feed/job.h"
#include "daemon/worker/loader/feed/metrics.h"
#include "daemon/worker/loader/feed/producer.h"
#include "daemon/worker/loader/memory.h"
#include "daemon/worker/loader/process.h"

namespace millrace::loader {
namespace {

namespace metric = values::metric;

constexpr std::chrono::seconds kAckTime{5};
constexpr std::chrono::seconds kErrorTime{10};

struct Reader {
    ring::FeedHello hello;
    std::shared_ptr<ring::RingWriter> writer;
    bool isClosed = false;
};

class Feed {
 public:
    explicit Feed(FeedJob job)
        : job_(std::move(job)),
          memory_(job_.spec.resources.memoryLimitMb,
                  loaderNeed(job_.spec, job_.plan, trainingSetUp(job_.spec))) {}

    Status open();
    Status run();

 private:
    using SteadyClock = std::chrono::steady_clock;

    void openInput();
    void handle(const FeedEvent& event);
    void opened(const FeedEvent& event);
    void closed(const FeedEvent& event);
    void ended(const FeedEvent& event);
    Status startTrain();
    Status startEval(const Reader& reader);
    Result<std::shared_ptr<const segment::StreamInput>> evalInput();
    int numThreads() const { return trainingSetUp(job_.spec).threads; }
    segment::SequencerOptions sequencerOptions(std::uint32_t epochs);
    Producer::OnEnd reportEnd(const ring::FeedHello& hello);
    void broken(const Status& error);
    bool isDone() const;
    bool areAllClosed() const;
    void sendMetrics(bool isLast = false);
    int worldSize() const { return static_cast<int>(job_.spec.train.ranks); }
    ring::RingSink::Options dealing() const {
        return {worldSize(), job_.spec.microBatchesPerStep()};
    }

    const FeedJob job_;
    LoaderMemory memory_;
    segment::StageCounters counters_;
    StageMetrics stageMetrics_{counters_};
    FeedEvents events_;
    std::unique_ptr<rank::RankClient> client_;
    std::unique_ptr<ring::FeedServer> server_;
    /// Side tables that training and evaluation look into.
    const std::shared_ptr<recipe::SharedTables> tables_ =
        std::make_shared<recipe::SharedTables>(numThreads());
    std::shared_ptr<const segment::StreamInput> train_, eval_;
    std::map<int, Reader> readers_;
    std::map<int, Reader> evalReaders_;
    std::unique_ptr<Producer> trainProducer_;
    std::map<int, std::unique_ptr<segment::BufferPool>> evalPools_;
    std::map<int, std::unique_ptr<Producer>> evalProducers_;
    int generation_ = 0;  ///< of the newest train producer: older ones' ends do not count
    bool isTrainEnded_ = false;
    Status error_;
    SteadyClock::time_point errorTime_, lastMetrics_ = SteadyClock::now();
    std::int64_t lastRead_ = 0, lastKept_ = 0;
    double lastCpu_ = 0;
};

Status Feed::open() {
    rank::RankClientOptions client;
    client.socketPath = job_.rankSocket;
    client.directory = job_.directory;
    client.sender = {job_.run, job_.attempt, "feed", 0, ::getpid()};
    ASSIGN_OR_RETURN(client_, rank::RankClient::start(std::move(client)));
    rank::ReceiptLine versions;
    versions.receipt["packages"]["arrow"] = segment::arrowVersion();
    RETURN_IF_ERROR(client_->send(std::move(versions)).status());
    ring::FeedServerOptions server;
    server.socketPath = job_.feedSocket;
    server.streamHash = spec::streamHash(job_.spec);
    server.planHash = job_.plan.planHash();
    server.microRows = job_.spec.batch.microRows;
    server.worldSize = worldSize();
    server.attempt = job_.attempt;
    server.ring.budget = &memory_.budget();
    server.evalRing.budget = &memory_.budget();
    ASSIGN_OR_RETURN(
        server_,
        ring::FeedServer::start(
            std::move(server),
            [this](const ring::FeedHello& hello, std::shared_ptr<ring::RingWriter> writer) {
                events_.push({FeedEvent::Kind::kOpened, hello, std::move(writer)});
                return okStatus();
            },
            [this](const ring::FeedHello& hello) {
                events_.push({FeedEvent::Kind::kClosed, hello});
            }));
    openInput();
    return okStatus();
}

// The server listens already: what is wrong here is told to the ranks as well.
void Feed::openInput() {
    Status status = memory_.admitted();
    if (status.ok()) {
        auto input = segment::StreamInput::open(job_.spec, job_.plan, recipe::Part::kTrain,
                                                memory_.budget(), tables_);
        status = input.status();
        train_ = input.ok() ? std::move(*input) : nullptr;
    }
    if (!status.ok()) {
        broken(status);
        return;
    }
    // Rings grow within what is left to them: a fifth.
    memory_.makePools(memory_.budget().limitBytes() / 5);
}

void Feed::broken(const Status& error) {
    if (!error_.ok()) {
        return;
    }
    logError("feed: failed", {{"error", messageOf(error)}});
    error_ = error;
    errorTime_ = SteadyClock::now();
    const auto sent = client_->send(rank::ErrorLine{std::string(messageOf(error))});
    if (!sent.ok()) {
        logWarn("feed: the error cannot be reported", {{"reason", messageOf(sent.status())}});
    }
}

Status Feed::run() {
    constexpr int kTickMs = 250;
    while (!events_.isSignalled() && !client_->stopRequested()) {
        for (const FeedEvent& event : events_.wait(kTickMs, client_->stopFd())) {
            handle(event);
        }
        if (SteadyClock::now() - lastMetrics_ >= std::chrono::seconds(1)) {
            sendMetrics();
        }
        const bool isTold = !error_.ok() && ((!readers_.empty() && areAllClosed()) ||
                                             SteadyClock::now() - errorTime_ > kErrorTime);
        if (isDone() || isTold) {
            break;
        }
    }
    const bool isStopped = !isDone() && error_.ok();
    trainProducer_.reset();
    evalProducers_.clear();
    server_.reset();
    sendMetrics(true);
    const Status acked = client_->waitAcked(kAckTime);
    if (!acked.ok()) {
        logWarn("feed: ends with lines not acknowledged", {{"reason", messageOf(acked)}});
    }
    return isStopped ? cancelled("stopped on request") : error_;
}

bool Feed::areAllClosed() const {
    return std::all_of(readers_.begin(), readers_.end(),
                       [](const auto& entry) { return entry.second.isClosed; });
}

bool Feed::isDone() const {
    return isTrainEnded_ && static_cast<int>(readers_.size()) == worldSize() && areAllClosed();
}

void Feed::handle(const FeedEvent& event) {
    switch (event.kind) {
        case FeedEvent::Kind::kOpened:
            opened(event);
            break;
        case FeedEvent::Kind::kClosed:
            closed(event);
            break;
        case FeedEvent::Kind::kEnded:
            ended(event);
            break;
    }
}

void Feed::opened(const FeedEvent& event) {
    const bool isTrain = event.hello.stream == "train";
    Reader& reader = (isTrain ? readers_ : evalReaders_)[event.hello.rank];
    reader = {event.hello, event.writer, false};
    logInfo("feed: reader", {{"stream", event.hello.stream}, {"rank", event.hello.rank}});
    Status status = error_;
    if (status.ok()) {
        status = isTrain ? startTrain() : startEval(reader);
    }
    if (!status.ok()) {
        const Status told = reader.writer->error(status, {});
        (void)told;  // a reader that is gone again comes back or not
        broken(status);
    }
}

void Feed::closed(const FeedEvent& event) {
    auto& readers = event.hello.stream == "train" ? readers_ : evalReaders_;
    const auto reader = readers.find(event.hello.rank);
    // A reader that came back has replaced the one whose end is told here.
    if (reader != readers.end() && reader->second.writer->isPeerGone()) {
        reader->second.isClosed = true;
    }
}

void Feed::ended(const FeedEvent& event) {
    const bool isTrain = event.hello.stream == "train";
    if (isTrain && event.generation != generation_) {
        return;
    }
    if (event.status.ok()) {
        isTrainEnded_ = isTrainEnded_ || isTrain;
        return;
    }
    if (event.isReaderGone || event.status.code() == absl::StatusCode::kCancelled) {
        logInfo("feed: reader gone", {{"stream", event.hello.stream}, {"rank", event.hello.rank}});
        return;
    }
    broken(event.status);
}

segment::SequencerOptions Feed::sequencerOptions(std::uint32_t epochs) {
    segment::SequencerOptions options;
    options.threads = numThreads();
    options.framePool = &memory_.frames();
    options.hasDeliveryThread = options.threads == 1;
    options.epochs = epochs;
    return options;
}

Producer::OnEnd Feed::reportEnd(const ring::FeedHello& hello) {
    FeedEvent event{FeedEvent::Kind::kEnded, {}, nullptr, okStatus(), generation_};
    event.hello.stream = hello.stream;
    event.hello.rank = hello.rank;
    return [this, event = std::move(event)](const Status& status, bool isReaderGone) {
        FeedEvent ended = event;
        ended.status = status;
        ended.isReaderGone = isReaderGone;
        events_.push(std::move(ended));
    };
}

// Starts when every rank is there; all go on from the furthest place that all have come to, each
// skips what it has.
Status Feed::startTrain() {
    trainProducer_.reset();
    ++generation_;
    isTrainEnded_ = false;
    Producer::Request request;
    request.input = train_;
    request.dealing = dealing();
    request.sequencer = sequencerOptions(static_cast<std::uint32_t>(job_.spec.batch.epochs));
    bool isFirst = true;
    for (const auto& [rank, reader] : readers_) {
        if (reader.isClosed || reader.writer->isPeerGone()) {
            return okStatus();
        }
        stream::StreamState state;
        state.cursor = stream::Cursor::start(train_->streamHash(), train_->planHash());
        if (reader.hello.state) {
            state = *reader.hello.state;
        }
        stream::Cursor& start = request.sequencer.start;
        if (isFirst ||
            std::pair(state.cursor.epoch, state.cursor.next) < std::pair(start.epoch, start.next)) {
            start = state.cursor;
            request.dealing.orderHash = state.orderHash;
            request.dealing.rowsDelivered = state.rowsDelivered;
        }
        isFirst = false;
        request.ranks.push_back({rank, reader.writer, reader.hello.next});
    }
    if (static_cast<int>(request.ranks.size()) < worldSize()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(trainProducer_,
                     Producer::start(std::move(request), memory_.segments(), counters_,
                                     reportEnd(readers_.begin()->second.hello)));
    return okStatus();
}

Result<std::shared_ptr<const segment::StreamInput>> Feed::evalInput() {
    if (!eval_) {
        ASSIGN_OR_RETURN(eval_,
                         segment::StreamInput::open(job_.spec, job_.plan, recipe::Part::kEval,
                                                    memory_.budget(), tables_));
    }
    return eval_;
}

// From its start at each open: the producer before is stopped first.
Status Feed::startEval(const Reader& reader) {
    const int rank = reader.hello.rank;
    evalProducers_.erase(rank);
    evalPools_[rank] = std::make_unique<segment::BufferPool>(memory_.evalBytes());
    Producer::Request request;
    ASSIGN_OR_RETURN(request.input, evalInput());
    request.dealing = dealing();
    request.sequencer = sequencerOptions(1);
    // Of the readers' own pools: what one of them holds stands in nobody's way.
    request.sequencer.framePool = nullptr;
    request.ranks.push_back({rank, reader.writer, std::nullopt});
    ASSIGN_OR_RETURN(evalProducers_[rank], Producer::start(std::move(request), *evalPools_[rank],
                                                           counters_, reportEnd(reader.hello)));
    return okStatus();
}

void Feed::sendMetrics(bool isLast) {
    const auto now = SteadyClock::now();
    const double seconds = std::chrono::duration<double>(now - lastMetrics_).count();
    const std::int64_t read = counters_.read(segment::Stage::kRead).rows;
    const std::int64_t kept = counters_.read(segment::Stage::kRecipe).rows;
    const double cpu = cpuSeconds();
    rank::Metrics metrics;
    metrics.timeMs = SystemClock().wallMs();
    if (trainProducer_) {
        const segment::SequencerTotals totals = trainProducer_->totals();
        metrics.epoch = trainProducer_->position().epoch;
        metrics.step = totals.microBatches / job_.spec.microBatchesPerStep();
        metrics.rows = totals.rowsDelivered;
    }
    metrics.values = {
        {metric::kLoaderRowsReadPerSecond, static_cast<double>(read - lastRead_) / seconds},
        {metric::kLoaderRowsKeptPerSecond, static_cast<double>(kept - lastKept_) / seconds},
        {metric::kLoaderCpuPercent, 100 * (cpu - lastCpu_) / seconds}};
    stageMetrics_.add(seconds, isLast, metrics.values);
    lastMetrics_ = now;
    lastRead_ = read;
    lastKept_ = kept;
    lastCpu_ = cpu;
    const auto sent = client_->send(std::move(metrics));
    if (!sent.ok()) {
        logWarn("feed: metrics cannot be sent", {{"reason", messageOf(sent.status())}});
    }
}

}  // namespace

int runFeed(const std::string& jobPath) {
    Result<FeedJob> job = FeedJob::read(jobPath);
    if (!job.ok()) {
        return fail(job.status());
    }
    Feed feed(std::move(*job));
    Status status = feed.open();
    if (status.ok()) {
        status = feed.run();
    }
    return status.ok() ? kExitDone : fail(status);
}

}  // namespace millrace::loader
