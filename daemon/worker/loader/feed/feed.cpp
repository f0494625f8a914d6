#include "daemon/worker/loader/feed/feed.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <set>
#include <vector>

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/thread.h"
#include "backend/ring/feed_server.h"
#include "backend/ring/leavable_ring.h"
#include "daemon/worker/loader/exit.h"
#include "daemon/worker/loader/feed/events.h"
#include "daemon/worker/loader/feed/figures.h"
#include "daemon/worker/loader/feed/job.h"
#include "daemon/worker/loader/feed/owner.h"
#include "daemon/worker/loader/feed/producer.h"
#include "daemon/worker/loader/memory.h"

namespace millrace::loader {
namespace {

constexpr std::chrono::seconds kErrorTime{10};
constexpr std::chrono::milliseconds kComeTogether{100};

struct Reader {
    ring::FeedHello hello;
    std::shared_ptr<ring::RingWriter> writer;
    bool isClosed = false;
    bool wasServed = false;  ///< by a producer: its ring is not at its beginning
    bool isSentFor = false;  ///< the feed hung up on it, so that it reconnects

    void tell(const Status& error) {
        const Status told = writer->error(error, {});
        static_cast<void>(told);  // a reader that is gone may come back
    }
    /// Its connection is closed, and it has taken everything.
    bool hasAll() const { return isClosed && writer->hasTakenEnd(); }
};

/// One pass over the evaluation rows, for ranks that asked at about the same time.
struct EvalPass {
    std::unique_ptr<segment::BufferPool> pool;
    std::unique_ptr<Producer> producer;
    std::set<int> ranks;  ///< that still read it
};

class Feed {
 public:
    Feed(FeedJob job, const DataPlane& plane, FeedEvents& events, FeedOwner& owner)
        : job_(std::move(job)),
          plane_(plane),
          events_(events),
          owner_(owner),
          memory_(job_.spec.resources.memoryLimitMb, loaderNeed(job_.spec, job_.plan, job_.setUp()),
                  job_.setUp().wantsJoined),
          figures_(job_, counters_, owner_) {}

    Status open();
    Status run();

 private:
    using SteadyClock = std::chrono::steady_clock;

    void openInput();
    Status openElsewhere();
    void stopTrain();
    void handle(const FeedEvent& event);
    void opened(const FeedEvent& event);
    void closed(const FeedEvent& event);
    void ended(const FeedEvent& event);
    bool areReady();
    int awaitedRank() const;
    Producer::Request trainRequest();
    Status produceTrain(Producer::Request request);
    Status beginEarly();
    bool isEarly() const { return trainProducer_ != nullptr && !trainProducer_->hasRanks(); }
    Status startTrain();
    void leaveEval(int rank);
    void startEvals();
    bool areEvalsDue() const;
    Status startEval(std::set<int>& ranks);
    int numThreads() const { return job_.setUp().threads; }
    Status admits(const ring::FeedHello& hello) const;
    segment::SequencerOptions sequencerOptions(std::uint32_t epochs);
    Producer::OnEnd reportEnd(const ring::FeedHello& hello);
    void broken(const Status& error);
    void tellRanks(const Status& error);
    bool isDone() const;
    bool areAllTold() const;
    void sendFigures(bool isLast = false);
    ring::RingSink::Options dealing(const segment::StreamInput& input);
    Status addRank(Producer::Request& request, const Reader& reader) const;

    const FeedJob job_;
    const DataPlane& plane_;
    FeedEvents& events_;
    FeedOwner& owner_;
    LoaderMemory memory_;
    segment::StageCounters counters_;
    FeedFigures figures_;
    std::unique_ptr<ring::FeedServer> server_;
    /// Side tables that training and evaluation use.
    const std::shared_ptr<recipe::SharedTables> tables_ =
        std::make_shared<recipe::SharedTables>(numThreads());
    std::shared_ptr<const segment::StreamInput> train_, eval_;
    std::map<int, Reader> readers_;
    std::map<int, Reader> evalReaders_;
    std::unique_ptr<SegmentsElsewhere> elsewhere_;  ///< null: all is computed here
    std::unique_ptr<Producer> trainProducer_;
    std::set<int> awaitedEvals_;  ///< ranks with readers that no pass serves yet
    SteadyClock::time_point firstAwaited_;
    std::vector<EvalPass> evalPasses_;
    bool isAwaited_ = false;    ///< training begins once all ranks are connected
    bool isProducing_ = false;  ///< the newest train producer's end is not known yet
    int generation_ = 0;        ///< of the newest train producer: ends of older ones are ignored
    Status error_;
    SteadyClock::time_point errorTime_;
};

Status Feed::open() {
    ring::FeedServerOptions server;
    server.socketPath = job_.feedSocket;
    server.streamHash = spec::streamHash(job_.spec);
    server.planHash = job_.plan.planHash();
    tellInputs(job_.spec, server);
    server.microRows = job_.spec.batch.microRows;
    server.stepBatches = job_.spec.microBatchesPerStep();
    server.worldSize = job_.worldSize();
    server.attempt = job_.attempt;
    server.ring.budget = &memory_.budget();
    server.evalRing.budget = &memory_.evalBudget();
    server.ring.spare = server.evalRing.spare = &memory_.spareBudget();
    ASSIGN_OR_RETURN(
        server_,
        ring::FeedServer::start(
            std::move(server),
            [this](const ring::FeedHello& hello, std::shared_ptr<ring::RingWriter> writer) {
                const Status admitted = admits(hello);
                if (admitted.ok()) {
                    events_.push({FeedEvent::Kind::kOpened, hello, std::move(writer)});
                }
                return admitted;
            },
            [this](const ring::FeedHello& hello) {
                events_.push({FeedEvent::Kind::kClosed, hello});
            }));
    openInput();
    RETURN_IF_ERROR(openElsewhere());
    return beginEarly();
}

Status Feed::openElsewhere() {
    if (job_.joinFile.empty() || !error_.ok()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(elsewhere_, plane_.lead({job_.joinFile, job_.listen, job_.attempt,
                                              plane_.buildId, job_.spec, job_.plan, job_.isUncoded,
                                              job_.feedSocket, job_.groupSocket}));
    return okStatus();
}

// Called on the server's thread. Refuses requests that would harm other readers.
Status Feed::admits(const ring::FeedHello& hello) const {
    if (!std::binary_search(job_.ranks.begin(), job_.ranks.end(), hello.rank)) {
        return invalidArgument("hello: rank ", hello.rank, " is not one of those that this feed ",
                               "serves (--ranks); a feed with relays serves theirs too, so leave "
                               "--ranks out there");
    }
    if (hello.state) {
        RETURN_IF_ERROR(job_.checkPlace(hello.state->cursor));
    }
    if (hello.stream == "eval" && !job_.spec.eval) {
        return invalidArgument("hello: the spec has no eval section");
    }
    if (hello.ledgerRing != 0) {
        const ring::FrameLedger* ledger = elsewhere_ != nullptr ? elsewhere_->ledger() : nullptr;
        if (ledger == nullptr || !ledger->isOpen(hello.ledgerRing)) {
            return invalidArgument("hello: only the ring of a relay takes references to frames");
        }
    }
    return okStatus();
}

// The server listens already, so that errors here reach the ranks as well.
void Feed::openInput() {
    Status status = memory_.admitted();
    const auto open = [&](recipe::Part part, std::shared_ptr<const segment::StreamInput>& opened) {
        if (status.ok()) {
            auto input =
                segment::StreamInput::open(job_.spec, job_.plan, part, memory_.budget(), tables_);
            status = input.status();
            opened = input.ok() ? std::move(*input) : nullptr;
        }
    };
    open(recipe::Part::kTrain, train_);
    if (job_.spec.eval) {  // now, so that it fails before training rather than after a part of it
        open(recipe::Part::kEval, eval_);
    }
    if (!status.ok()) {
        broken(status);
        return;
    }
    // Rings grow within the memory that is left to them: a fifth.
    memory_.makePools(memory_.budget().limitBytes() / 5);
}

void Feed::broken(const Status& error) {
    if (!error_.ok()) {
        return;
    }
    logError("feed: failed", {{"error", messageOf(error)}});
    error_ = error;
    errorTime_ = SteadyClock::now();
    owner_.failed(error);
}

Status Feed::run() {
    constexpr int kTickMs = 250;
    while (!events_.isSignalled() && !owner_.wantsEnd()) {
        const int wait = awaitedEvals_.empty() ? kTickMs : static_cast<int>(kComeTogether.count());
        for (const FeedEvent& event : events_.wait(wait, owner_.fd())) {
            handle(event);
        }
        startEvals();
        // A rank that was hung up on may have found the stream's end in its old ring.
        if (isAwaited_ && error_.ok() && areReady()) {
            const Status started = startTrain();
            if (!started.ok()) {
                tellRanks(started);
                broken(started);
            }
        }
        owner_.awaits(awaitedRank());
        if (figures_.isDue()) {
            sendFigures();
        }
        const bool isTold =
            !error_.ok() && (areAllTold() || SteadyClock::now() - errorTime_ > kErrorTime);
        if (isDone() || isTold) {
            break;
        }
    }
    const bool isStopped = !isDone() && error_.ok();
    stopTrain();
    evalPasses_.clear();
    server_.reset();
    sendFigures(true);
    if (!isStopped) {
        return error_;
    }
    // A shim's signal and the life line's end arrive together.
    return owner_.wantsEnd() ? owner_.endWanted() : toldToEnd();
}

bool Feed::areAllTold() const {
    return !readers_.empty() &&
           std::all_of(readers_.begin(), readers_.end(),
                       [](const auto& entry) { return entry.second.hasAll(); });
}

// A rank that left before its end comes back. A ring holds a whole small stream, so the feed is not
// done when everything is delivered.
bool Feed::isDone() const {
    return !isProducing_ && readers_.size() == job_.ranks.size() &&
           (elsewhere_ == nullptr || !elsewhere_->isCarrying()) &&
           std::all_of(readers_.begin(), readers_.end(),
                       [](const auto& entry) { return entry.second.hasAll(); }) &&
           evalReaders_.empty();
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
        case FeedEvent::Kind::kWake:
            break;
    }
}

void Feed::opened(const FeedEvent& event) {
    const bool isTrain = event.hello.stream == "train";
    Reader& reader = (isTrain ? readers_ : evalReaders_)[event.hello.rank];
    reader = {event.hello, event.writer};
    if (!isTrain) {
        reader.hello.next.reset();  // reads from its start at each open
    }
    logDebug("feed: reader", {{"stream", event.hello.stream}, {"rank", event.hello.rank}});
    Status status = error_;
    if (status.ok() && !isTrain) {
        leaveEval(event.hello.rank);
        firstAwaited_ = awaitedEvals_.empty() ? SteadyClock::now() : firstAwaited_;
        awaitedEvals_.insert(event.hello.rank);
        return;
    }
    if (status.ok()) {
        status = startTrain();
    }
    if (status.ok()) {
        return;
    }
    if (isTrain && error_.ok()) {
        tellRanks(status);
    } else {
        reader.tell(status);
    }
    broken(status);
}

// Called while no producer runs that could tell the ranks. A rank that was hung up on is told when
// it reconnects.
void Feed::tellRanks(const Status& error) {
    for (auto& [rank, reader] : readers_) {
        if (reader.wasServed) {
            reader.writer->hangUp();
        } else {
            reader.tell(error);
        }
    }
}

void Feed::closed(const FeedEvent& event) {
    const bool isTrain = event.hello.stream == "train";
    auto& readers = isTrain ? readers_ : evalReaders_;
    const auto reader = readers.find(event.hello.rank);
    // A reader that came back has replaced the one whose end is told here.
    if (reader == readers.end() || !reader->second.writer->isPeerGone()) {
        return;
    }
    reader->second.isClosed = true;
    if (!isTrain) {  // it starts over each time, and nobody reads its ring now
        leaveEval(event.hello.rank);
        awaitedEvals_.erase(event.hello.rank);
        readers.erase(reader);
    }
}

void Feed::ended(const FeedEvent& event) {
    const bool isTrain = event.hello.stream == "train";
    if (isTrain && event.generation != generation_) {
        return;
    }
    isProducing_ = isProducing_ && !isTrain;
    if (event.status.ok()) {
        return;
    }
    if (event.isReaderGone || event.status.code() == absl::StatusCode::kCancelled) {
        logDebug("feed: reader gone", {{"stream", event.hello.stream}, {"rank", event.hello.rank}});
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

ring::RingSink::Options Feed::dealing(const segment::StreamInput& input) {
    ring::RingSink::Options options{job_.worldSize(), job_.spec.microBatchesPerStep()};
    options.microRows = job_.spec.batch.microRows;
    options.layout = &input.layout();
    options.budget = &memory_.budget();
    options.ledger = elsewhere_ != nullptr ? elsewhere_->ledger() : nullptr;
    return options;
}

Status Feed::addRank(Producer::Request& request, const Reader& reader) const {
    if (reader.hello.join) {
        RETURN_IF_ERROR(memory_.admittedJoined());
    }
    request.dealing.last = reader.hello.last;  // the server only takes ranks that agree on it
    request.ranks.push_back({reader.hello.rank, reader.writer, reader.hello.next, reader.hello.join,
                             reader.hello.ledgerRing});
    return okStatus();
}

// Returns whether every rank that lacks rows is connected, with a ring at its beginning. Other
// rings hold a sequence that was interrupted: the feed hangs up, so that their ranks reconnect.
bool Feed::areReady() {
    bool isReady = readers_.size() == job_.ranks.size();
    for (auto& [rank, reader] : readers_) {
        if (reader.writer->hasTakenEnd()) {
            continue;
        }
        isReady = isReady && !reader.isClosed && !reader.writer->isPeerGone() && !reader.wasServed;
        if (reader.wasServed) {
            reader.isSentFor =
                reader.isSentFor || (!reader.isClosed && !reader.writer->isPeerGone());
            reader.writer->hangUp();
        }
    }
    return isReady;
}

int Feed::awaitedRank() const {
    for (const auto& [rank, reader] : readers_) {
        if (isAwaited_ && reader.isSentFor && !reader.writer->hasTakenEnd()) {
            return rank;
        }
    }
    return -1;
}

void Feed::stopTrain() {
    if (elsewhere_ != nullptr) {
        elsewhere_->detach();
    }
    if (trainProducer_ != nullptr) {
        figures_.note(*trainProducer_);
    }
    trainProducer_.reset();
}

Producer::Request Feed::trainRequest() {
    Producer::Request request;
    request.input = train_;
    request.dealing = dealing(*train_);
    request.sequencer = sequencerOptions(static_cast<std::uint32_t>(job_.spec.batch.epochs));
    request.sequencer.start = stream::Cursor::start(train_->streamHash(), train_->planHash());
    if (job_.hasDataWorkers) {
        request.shareWithElsewhere(memory_.segments().limitBytes());
        request.sequencer.elsewhere.computesHere = !elsewhere_->mayStartElsewhere();
    }
    return request;
}

Status Feed::produceTrain(Producer::Request request) {
    ++generation_;
    ring::FeedHello hello;
    hello.stream = "train";
    hello.rank = job_.ranks.front();
    ASSIGN_OR_RETURN(trainProducer_, Producer::start(std::move(request), memory_.segments(),
                                                     counters_, reportEnd(hello)));
    isProducing_ = true;
    if (job_.hasDataWorkers) {
        elsewhere_->attach(trainProducer_->queue(), train_);
    }
    return okStatus();
}

// A run's first ranks have read nothing yet, and take seconds to load their libraries and models.
Status Feed::beginEarly() {
    constexpr std::int64_t kFirstAttempt = 1;
    if (job_.run.empty() || job_.attempt != kFirstAttempt || !error_.ok()) {
        return okStatus();
    }
    return produceTrain(trainRequest());
}

// Starts from the furthest position that all ranks have reached; each rank skips what it has.
Status Feed::startTrain() {
    isAwaited_ = !areReady();
    if (isAwaited_ && isEarly()) {
        return okStatus();
    }
    if (!isEarly()) {
        stopTrain();
        isProducing_ = false;
        ++generation_;
    }
    if (isAwaited_) {
        return okStatus();
    }
    Producer::Request request = trainRequest();
    const stream::Cursor first = request.sequencer.start;
    for (auto& [rank, reader] : readers_) {
        if (reader.writer->hasTakenEnd()) {
            continue;
        }
        stream::StreamState state;
        state.cursor = first;
        if (reader.hello.state) {
            state = *reader.hello.state;
        }
        stream::Cursor& start = request.sequencer.start;
        if (request.ranks.empty() ||
            std::pair(state.cursor.epoch, state.cursor.next) < std::pair(start.epoch, start.next)) {
            start = state.cursor;
            request.dealing.beginAt(state);
        }
        RETURN_IF_ERROR(addRank(request, reader));
        reader.wasServed = true;
    }
    if (isEarly() && request.sequencer.start == first) {
        trainProducer_->deliverTo(std::move(request.ranks), request.dealing);
        return okStatus();
    }
    stopTrain();
    return produceTrain(std::move(request));
}

// From its start at each open: a pass that nobody reads any more is stopped first.
void Feed::leaveEval(int rank) {
    for (EvalPass& pass : evalPasses_) {
        pass.ranks.erase(rank);
    }
    std::erase_if(evalPasses_, [](const EvalPass& pass) { return pass.ranks.empty(); });
}

// The ranks of a node evaluate at about the same time, and one pass can serve them all. A rank that
// comes alone, as when rank 0 evaluates for all, does not wait long for the others.
bool Feed::areEvalsDue() const {
    return !awaitedEvals_.empty() && (awaitedEvals_.size() == job_.ranks.size() ||
                                      SteadyClock::now() - firstAwaited_ >= kComeTogether);
}

void Feed::startEvals() {
    while (error_.ok() && areEvalsDue()) {
        std::set<int> ranks;
        const Status status = startEval(ranks);
        for (const int rank : status.ok() ? std::set<int>() : ranks) {
            evalReaders_.at(rank).tell(status);
        }
        if (!status.ok()) {
            broken(status);
        }
    }
}

// `ranks`: the ranks that are served, taken from the waiting ones.
Status Feed::startEval(std::set<int>& ranks) {
    Producer::Request request;
    const stream::LastStep last = evalReaders_.at(*awaitedEvals_.begin()).hello.last;
    for (const int rank : std::set<int>(awaitedEvals_)) {
        if (evalReaders_.at(rank).hello.last == last) {
            ranks.insert(rank);
            awaitedEvals_.erase(rank);
        }
    }
    request.input = eval_;
    request.dealing = dealing(*request.input);
    request.dealing.budget = &memory_.evalBudget();
    request.sequencer = sequencerOptions(1);
    // Each pass has its own pool, so that frames that its readers hold block no other pass.
    request.sequencer.framePool = nullptr;
    const auto present = std::make_shared<std::atomic<int>>(static_cast<int>(ranks.size()));
    for (const int rank : ranks) {
        RETURN_IF_ERROR(addRank(request, evalReaders_.at(rank)));
        request.ranks.back().ring =
            std::make_shared<ring::LeavableRing>(request.ranks.back().ring, present);
    }
    EvalPass pass{std::make_unique<segment::BufferPool>(memory_.evalBytes()), nullptr, ranks};
    logDebug("feed: evaluation", {{"ranks", ranks.size()}});
    ASSIGN_OR_RETURN(pass.producer,
                     Producer::start(std::move(request), *pass.pool, counters_,
                                     reportEnd(evalReaders_.at(*ranks.begin()).hello)));
    evalPasses_.push_back(std::move(pass));
    return okStatus();
}

void Feed::sendFigures(bool isLast) {
    figures_.send(trainProducer_.get(), elsewhere_.get(),
                  train_ != nullptr ? &train_->layout() : nullptr, isLast);
}

}  // namespace

int serveFeed(FeedJob job, const DataPlane& plane, FeedEvents& events, FeedOwner& owner) {
    Status status;
    {
        Feed feed(std::move(job), plane, events, owner);
        status = feed.open();
        if (status.ok()) {
            status = feed.run();
        }
    }
    owner.finish();
    return status.ok() ? kExitDone : fail(status);
}

}  // namespace millrace::loader
