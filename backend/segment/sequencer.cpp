#include "backend/segment/sequencer.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <thread>

#include "backend/core/mutex.h"
#include "backend/core/numa.h"
#include "backend/core/thread.h"
#include "backend/dataset/read_ahead.h"
#include "backend/segment/frame_gatherer.h"
#include "backend/segment/memory_need.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/window.h"
#include "backend/stream/open_rest.h"

namespace millrace::segment {

namespace {

// The rows that a segment leaves to the open rest, as a frame.
struct Tail {
    PooledBuffer buffer;
    frame::FrameView view;
    std::int64_t firstRow = 0;
    std::vector<std::uint64_t> requestKeys, userKeys;
};

// What one thread works with.
struct Hands {
    SegmentRunner runner;
    FrameGatherer gatherer;
};

// The foremost and one a thread; one more where a thread may be done before the foremost is.
constexpr int windowSize(int threads) {
    return threads > 1 ? threads + 2 : 2;
}

/// For objects of a store; it takes its bytes from the pool, of which the segments leave it a part.
std::shared_ptr<dataset::ReadAhead> readAheadOf(const StreamInput& input, BufferPool& pool) {
    if (!input.dataset()->hasObjects()) {
        return nullptr;
    }
    dataset::ReadAheadOptions options;
    options.hasIndexes = input.readsPartsOfRowGroups();
    if (pool.limitBytes() > 0) {
        options.bytesMax = std::min(options.bytesMax, pool.limitBytes() / kReadAheadShare);
    }
    return std::make_shared<dataset::ReadAhead>(input.dataset(), &pool, options);
}

/// What the segments may hold.
std::int64_t windowBytes(const StreamInput& input, const SequencerOptions& options,
                         const BufferPool& pool) {
    const std::int64_t bytes = options.limitBytes > 0 ? options.limitBytes : pool.limitBytes();
    return input.dataset()->hasObjects() ? bytes - bytes / kReadAheadShare : bytes;
}

}  // namespace

class Sequencer::Impl {
 public:
    Impl(std::shared_ptr<const StreamInput> input, SequencerOptions options, BufferPool& pool,
         StageCounters& counters, SequenceSink& sink)
        : input_(std::move(input)),
          options_(std::move(options)),
          pool_(pool),
          counters_(counters),
          sink_(sink),
          jobs_(
              counters, [this] { window_.wake(); }, options_.valuesToShare),
          window_(*input_,
                  {options_.epochs,
                   options_.window > 0 ? options_.window : windowSize(options_.threads),
                   windowBytes(*input_, options_, pool), options_.start,
                   mayHaveHead() ? options_.headRows : 0, options_.isOrdered, &counters, &jobs_}),
          readAhead_(readAheadOf(*input_, pool)),
          rest_(input_->microRows(), options_.start) {
        MutexLock lock(mutex_);
        position_ = options_.start;
        totals_.steps.resize(input_->recipe().stepNames().size());
        totals_.vocabularies.resize(input_->recipe().vocabularies().size());
    }

    Status run(std::stop_token stop);
    stream::Cursor position() const {
        MutexLock lock(mutex_);
        return position_;
    }
    SequencerTotals totals() const {
        MutexLock lock(mutex_);
        return totals_;
    }

 private:
    using Item = std::shared_ptr<FlightItem>;

    // Rows that fill up the rest of an earlier partition come first, and how many is known only
    // when the whole segment is: no head then.
    bool mayHaveHead() const {
        const auto& rest = options_.start.rest;
        return options_.isOrdered &&
               (rest.empty() ||
                rest.front().segment >= input_->partitionStart(options_.start.segment));
    }
    void work(bool mayCompute);
    void compute(const Item& item, Hands& hands);
    void deliver(const Item& item, Hands& hands);
    Status deliverNext(const Item& item, Hands& hands, bool& isDone);
    Status told(const Status& status);
    Status deliverFrame(const Item& item, std::int64_t index, Hands& hands, bool& gaveTurn);
    Status endSegment(const Item& item, Hands& hands);
    Status endEpoch(const Item& item);
    Status startSegment(const Item& item, Hands& hands);
    Status deliverLead(const Item& item, Hands& hands);
    void startPart(const Item& item);
    void endHead(const Item& item);
    Status keepRows(const SegmentOutput& output, std::int64_t firstRow, std::int64_t rows,
                    std::int64_t segmentRow, Hands& hands);
    std::int64_t rowsInStartRest(std::int64_t segment) const;
    Status deliverJoined(const stream::JoinedBatch& joined, std::uint32_t epoch);
    bool isWanted(std::uint32_t epoch, std::int64_t number) const;
    Result<SequenceSink::Place> reserve(std::uint64_t bytes, std::uint32_t epoch,
                                        std::int64_t number);
    void moved(const stream::Cursor& position, std::int64_t rows);
    void fail(const Status& error);

    const std::shared_ptr<const StreamInput> input_;
    const SequencerOptions options_;
    BufferPool& pool_;
    StageCounters& counters_;
    SequenceSink& sink_;
    ColumnJobs jobs_;
    Window window_;
    const std::shared_ptr<dataset::ReadAhead> readAhead_;
    std::stop_source stop_;

    // Of the delivering thread: handed on with the turn, under the window's lock.
    stream::OpenRest rest_;
    std::map<std::int64_t, Tail> tails_;
    BatchMeter joinedMeter_;
    const FlightItem* current_ = nullptr;
    stream::SegmentShare share_;
    std::vector<stream::RestPart> restBefore_;
    std::int64_t nextFrame_ = 0;   ///< of the segment
    std::int64_t firstFrame_ = 0;  ///< of the current item: those before are the head's
    SegmentRecord record_;         ///< of the current segment, as far as its items have come
    std::optional<SegmentOutput> headLeft_;  ///< rows of a head that fill no frame

    mutable Mutex mutex_;
    stream::Cursor position_ MR_GUARDED_BY(mutex_);
    SequencerTotals totals_ MR_GUARDED_BY(mutex_);
    Status error_ MR_GUARDED_BY(mutex_);
};

Status Sequencer::Impl::run(std::stop_token stop) {
    const std::stop_callback onStop(stop, [this] { fail(cancelled("stopped")); });
    const std::vector<std::vector<int>> nodes = numaNodes();
    {
        std::vector<std::jthread> threads;
        for (int t = 0; t < options_.threads; ++t) {
            threads.push_back(startThread(strCat("loader-", t), [this, &nodes, t](std::stop_token) {
                pinToNode(nodes, t);
                work(true);
            }));
        }
        if (options_.hasDeliveryThread) {
            threads.push_back(
                startThread("loader-deliver", [this](std::stop_token) { work(false); }));
        }
    }
    MutexLock lock(mutex_);
    return error_;
}

void Sequencer::Impl::fail(const Status& error) {
    {
        MutexLock lock(mutex_);
        if (error_.ok()) {
            error_ = error;
        }
    }
    stop_.request_stop();
    window_.stop();
}

void Sequencer::Impl::work(bool mayCompute) {
    Hands hands{SegmentRunner(input_, pool_, counters_, readAhead_, options_.epochs, &jobs_),
                FrameGatherer(input_->layout(), &counters_)};
    for (;;) {
        Window::Task task = window_.next(mayCompute);
        switch (task.kind) {
            case Window::Task::Kind::kStop:
                return;
            case Window::Task::Kind::kCompute:
                compute(task.item, hands);
                break;
            case Window::Task::Kind::kHelp:
                hands.runner.help();
                break;
            case Window::Task::Kind::kDeliver:
                deliver(task.item, hands);
                break;
        }
    }
}

void Sequencer::Impl::compute(const Item& item, Hands& hands) {
    std::optional<std::int64_t> rank;
    if (options_.threads > 1 && !item->isAlone) {
        rank = item->rank;
    }
    window_.computed(item, hands.runner.run(item->epoch, item->segment, item->part, rank));
}

void Sequencer::Impl::deliver(const Item& item, Hands& hands) {
    if (!item) {
        const Status ended = sink_.endOfStream(stop_.get_token());
        if (!ended.ok()) {
            fail(ended);
        }
        window_.stop();
        return;
    }
    bool isDone = false;
    const Status status = deliverNext(item, hands, isDone);
    if (!status.ok()) {
        fail(status);
    }
    if (isDone) {
        window_.delivered(item, true);
    }
}

// An error that is not the sink's own: the reader sees it in its place.
Status Sequencer::Impl::told(const Status& status) {
    if (!status.ok()) {
        const Status heard = sink_.error(status, stop_.get_token());
        (void)heard;  // the reader may be gone; the error itself is what run() returns
    }
    return status;
}

// One piece of delivery. The turn is either given back inside (a frame) or by the caller (isDone).
Status Sequencer::Impl::deliverNext(const Item& item, Hands& hands, bool& isDone) {
    isDone = true;
    if (item->state == FlightItem::State::kFailed) {
        return told(item->error);
    }
    if (item->isEpochEnd) {
        return endEpoch(item);
    }
    if (item->isForRest) {
        const std::int64_t kept = item->output->rowsKept();
        const std::int64_t rows = std::min(kept, rowsInStartRest(item->segment));
        return keepRows(*item->output, kept - rows, rows, kept - rows, hands);
    }
    if (current_ != item.get()) {
        startPart(item);
        if (item->part.kind != SegmentPart::Kind::kHead) {
            RETURN_IF_ERROR(startSegment(item, hands));
        }
    }
    const std::int64_t firstNumber = share_.first + share_.firstFull();
    while (nextFrame_ < share_.full && !isWanted(item->epoch, firstNumber + nextFrame_)) {
        ++nextFrame_;
    }
    if (nextFrame_ == share_.full) {
        current_ = nullptr;
        if (item->part.kind == SegmentPart::Kind::kHead) {
            endHead(item);
            return okStatus();
        }
        return endSegment(item, hands);
    }
    bool gaveTurn = false;
    const Status status = deliverFrame(item, nextFrame_, hands, gaveTurn);
    isDone = !gaveTurn;
    return status;
}

// The turn comes to an item with rows. What a head left over stands before the rows of the rest.
void Sequencer::Impl::startPart(const Item& item) {
    SegmentOutput& output = *item->output;
    const bool isFirst = item->part.kind != SegmentPart::Kind::kRest;
    if (isFirst) {
        restBefore_ = rest_.parts();
        nextFrame_ = 0;
        record_ = {};
        record_.epoch = item->epoch;
        record_.segment = item->segment;
        record_.steps.resize(output.steps.size());
        record_.vocabularies.resize(output.vocabularies.size());
    }
    firstFrame_ = nextFrame_;
    current_ = item.get();
    const auto addTo = [&output](auto& sums) {
        sums.rowsScanned += output.rowsScanned;
        sums.rowsPruned += output.rowsPruned;
        sums.rowsKept += output.rowsKept();
        for (std::size_t s = 0; s < output.steps.size(); ++s) {
            sums.steps[s].add(output.steps[s]);
        }
        for (std::size_t v = 0; v < output.vocabularies.size(); ++v) {
            sums.vocabularies[v].add(output.vocabularies[v]);
        }
    };
    addTo(record_);
    {
        MutexLock lock(mutex_);
        totals_.segments += isFirst ? 1 : 0;
        addTo(totals_);
    }
    if (headLeft_) {
        output.prepend(*headLeft_, 0);
        headLeft_.reset();
    }
    share_ = {};
    share_.first = rest_.next();
    share_.full = firstFrame_ + output.rowsKept() / input_->microRows();
}

// All rows of the segment are there: it takes its place in the sequence.
Status Sequencer::Impl::startSegment(const Item& item, Hands& hands) {
    share_ = rest_.add(item->segment, record_.rowsKept, input_->partitionStart(item->segment));
    record_.first = share_.first;
    record_.count = share_.count();
    record_.tailRows = share_.tailRows;
    RETURN_IF_ERROR(sink_.segment(record_, stop_.get_token()));
    return share_.lead > 0 ? deliverLead(item, hands) : okStatus();
}

// What was left of an earlier partition, filled up with the segment's first rows.
Status Sequencer::Impl::deliverLead(const Item& item, Hands& hands) {
    RETURN_IF_ERROR(keepRows(*item->output, 0, share_.lead, 0, hands));
    RETURN_IF_ERROR(deliverJoined(*share_.joined, item->epoch));
    tails_.clear();
    if (isWanted(item->epoch, share_.first)) {
        moved({input_->streamHash(), input_->planHash(), item->epoch, share_.first + 1,
               item->segment, 1, restBefore_},
              0);
    }
    return okStatus();
}

std::int64_t Sequencer::Impl::rowsInStartRest(std::int64_t segment) const {
    for (const stream::RestPart& part : options_.start.rest) {
        if (part.segment == segment) {
            return part.rows;
        }
    }
    return 0;
}

void Sequencer::Impl::endHead(const Item& item) {
    SegmentOutput& left = headLeft_.emplace();
    left.prepend(*item->output, (share_.full - firstFrame_) * input_->microRows());
}

bool Sequencer::Impl::isWanted(std::uint32_t epoch, std::int64_t number) const {
    const bool wasBefore = epoch == options_.start.epoch && number < options_.start.next;
    return !wasBefore && sink_.wants(epoch, number);
}

Result<SequenceSink::Place> Sequencer::Impl::reserve(std::uint64_t bytes, std::uint32_t epoch,
                                                     std::int64_t number) {
    StageTimer timer(counters_);
    auto place = sink_.reserve(bytes, epoch, number, stop_.get_token());
    timer.waited(Stage::kCollate, Wait::kBlocked);
    return place;
}

void Sequencer::Impl::moved(const stream::Cursor& position, std::int64_t rows) {
    MutexLock lock(mutex_);
    position_ = position;
    if (rows > 0) {
        ++totals_.microBatches;
        totals_.rowsDelivered += rows;
    }
}

Status Sequencer::Impl::deliverFrame(const Item& item, std::int64_t index, Hands& hands,
                                     bool& gaveTurn) {
    const std::int64_t rows = input_->microRows();
    const std::int64_t inSegment = share_.firstFull() + index;
    const std::int64_t number = share_.first + inSegment;
    jobs_.firstIsDelivered();
    ASSIGN_OR_RETURN(
        const std::uint64_t bytes,
        hands.gatherer.measure(*item->output, share_.lead + (index - firstFrame_) * rows, rows));
    ASSIGN_OR_RETURN(const SequenceSink::Place place, reserve(bytes, item->epoch, number));
    ++nextFrame_;
    moved({input_->streamHash(), input_->planHash(), item->epoch, number + 1, item->segment,
           inSegment + 1, restBefore_},
          rows);
    window_.enter(item);
    gaveTurn = true;
    window_.delivered(item, false);

    StageTimer timer(counters_);
    Status status =
        hands.gatherer.write(place.bytes, {item->epoch, static_cast<std::uint64_t>(item->segment),
                                           static_cast<std::uint32_t>(inSegment)});
    counters_.addMix(hands.gatherer.mix());
    window_.leave(item);
    timer.stop(Stage::kCollate, rows, static_cast<std::int64_t>(bytes));
    if (status.ok()) {
        status = sink_.commit(place, item->epoch, number);
        timer.stop(Stage::kSink, rows, static_cast<std::int64_t>(bytes));
    }
    return status;
}

// `segmentRow`: what number `firstRow` has in the whole segment.
Status Sequencer::Impl::keepRows(const SegmentOutput& output, std::int64_t firstRow,
                                 std::int64_t rows, std::int64_t segmentRow, Hands& hands) {
    if (rows == 0) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::uint64_t bytes, hands.gatherer.measure(output, firstRow, rows));
    ASSIGN_OR_RETURN(
        PooledBuffer buffer,
        PooledBuffer::allocate(options_.framePool != nullptr ? *options_.framePool : pool_,
                               static_cast<std::int64_t>(bytes)));
    RETURN_IF_ERROR(hands.gatherer.write(
        buffer.bytes(), {output.epoch, static_cast<std::uint64_t>(output.segment), 0}));
    ASSIGN_OR_RETURN(const frame::FrameView view,
                     frame::FrameView::open(buffer.bytes(), frame::CheckLevel::kDirectory));
    tails_.insert_or_assign(output.segment, Tail{std::move(buffer), view, segmentRow,
                                                 hands.gatherer.keys(&Chunk::requestKeys),
                                                 hands.gatherer.keys(&Chunk::userKeys)});
    return okStatus();
}

Status Sequencer::Impl::endSegment(const Item& item, Hands& hands) {
    const std::int64_t rows = input_->microRows();
    const std::int64_t ahead = share_.lead + share_.full * rows;
    RETURN_IF_ERROR(
        keepRows(*item->output, ahead - firstFrame_ * rows, share_.tailRows, ahead, hands));
    if (share_.joined && share_.lead == 0) {
        RETURN_IF_ERROR(deliverJoined(*share_.joined, item->epoch));
    }
    const std::vector<stream::RestPart> parts = rest_.parts();
    std::erase_if(tails_, [&parts](const auto& tail) {
        return std::none_of(parts.begin(), parts.end(), [&tail](const stream::RestPart& part) {
            return part.segment == tail.first;
        });
    });
    moved({input_->streamHash(), input_->planHash(), item->epoch, rest_.next(), item->segment + 1,
           0, parts},
          0);
    return okStatus();
}

Status Sequencer::Impl::deliverJoined(const stream::JoinedBatch& joined, std::uint32_t epoch) {
    if (!isWanted(epoch, joined.number)) {
        return okStatus();
    }
    std::vector<frame::RowRange> ranges;
    std::vector<std::uint64_t> requests, users;
    const auto addKeys = [](const std::vector<std::uint64_t>& from, std::int64_t first,
                            std::int64_t rows, std::vector<std::uint64_t>& keys) {
        if (!from.empty()) {
            keys.insert(keys.end(), from.begin() + first, from.begin() + first + rows);
        }
    };
    for (const stream::Piece& piece : joined.pieces) {
        const auto tail = tails_.find(piece.segment);
        if (tail == tails_.end()) {  // only a cursor that a hand changed can ask for it
            return told(failedPrecondition("the cursor's open rest asks for ", piece.rows,
                                           " rows of segment ", piece.segment,
                                           ", which keeps none"));
        }
        const Tail& t = tail->second;
        const std::int64_t from = piece.from == stream::Piece::kFromEnd
                                      ? std::int64_t{t.view.rows()} - piece.rows
                                      : piece.from - t.firstRow;
        if (from < 0 || from + piece.rows > std::int64_t{t.view.rows()}) {
            return told(failedPrecondition("the cursor's open rest asks for ", piece.rows,
                                           " rows of segment ", piece.segment, ", which leaves ",
                                           t.view.rows()));
        }
        ranges.push_back({&t.view, static_cast<std::uint32_t>(from),
                          static_cast<std::uint32_t>(from + piece.rows)});
        addKeys(t.requestKeys, from, piece.rows, requests);
        addKeys(t.userKeys, from, piece.rows, users);
    }
    if (joined.rows == input_->microRows()) {
        counters_.addMix(joinedMeter_.mixOf(requests, users));
    }
    ASSIGN_OR_RETURN(frame::FrameConcat concat, frame::FrameConcat::make(input_->layout(), ranges));
    ASSIGN_OR_RETURN(const SequenceSink::Place place,
                     reserve(concat.totalBytes(), epoch, joined.number));
    RETURN_IF_ERROR(concat.write(place.bytes, {epoch, static_cast<std::uint64_t>(joined.segment),
                                               static_cast<std::uint32_t>(joined.index)}));
    RETURN_IF_ERROR(sink_.commit(place, epoch, joined.number));
    moved(position(), joined.rows);
    return okStatus();
}

Status Sequencer::Impl::endEpoch(const Item& item) {
    if (const auto joined = rest_.finish(input_->numSegments())) {
        RETURN_IF_ERROR(deliverJoined(*joined, item->epoch));
    }
    tails_.clear();
    RETURN_IF_ERROR(told(input_->dataset()->verifyFiles()));
    RETURN_IF_ERROR(sink_.endOfEpoch(item->epoch, rest_.next(), stop_.get_token()));
    rest_.startEpoch();
    stream::Cursor next = stream::Cursor::start(input_->streamHash(), input_->planHash());
    next.epoch = item->epoch + 1;
    moved(next, 0);
    return okStatus();
}

Result<std::unique_ptr<Sequencer>> Sequencer::make(std::shared_ptr<const StreamInput> input,
                                                   SequencerOptions options, BufferPool& pool,
                                                   StageCounters& counters, SequenceSink& sink) {
    if (options.threads < 1) {
        return invalidArgument("resources.loader_threads: at least one thread is needed");
    }
    if (options.start.streamHash.empty()) {
        options.start = stream::Cursor::start(input->streamHash(), input->planHash());
    }
    RETURN_IF_ERROR(options.start.check(input->streamHash(), input->planHash(),
                                        input->numSegments(), input->microRows()));
    return std::unique_ptr<Sequencer>(new Sequencer(
        std::make_unique<Impl>(std::move(input), std::move(options), pool, counters, sink)));
}

Sequencer::Sequencer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Sequencer::~Sequencer() = default;

Status Sequencer::run(std::stop_token stop) {
    return impl_->run(std::move(stop));
}

stream::Cursor Sequencer::position() const {
    return impl_->position();
}

SequencerTotals Sequencer::totals() const {
    return impl_->totals();
}

}  // namespace millrace::segment
