#include "backend/segment/sequence/sequencer.h"

#include <algorithm>
#include <optional>
#include <thread>

#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/segment/count_names.h"
#include "backend/segment/memory/memory_need.h"
#include "backend/segment/objects_ahead.h"
#include "backend/segment/segment_runner.h"
#include "backend/segment/sequence/local_frames.h"
#include "backend/segment/sequence/open_tails.h"
#include "backend/segment/sequence/window.h"
#include "backend/stream/micro_batch_count.h"
#include "backend/stream/read_state.h"
#include "backend/stream/state/order_hash.h"
#include "backend/system/numa.h"

namespace millrace::segment {

namespace {

// One thread's tools for computing segments and writing frames, reused for each.
struct ThreadContext {
    SegmentRunner runner;
    FrameTools tools;
};

// The earliest segment, one per thread, and one more in case a thread finishes before the earliest.
constexpr int windowSize(int threads) {
    return threads > 1 ? threads + 2 : 2;
}

/// The segments' share of the pool: what neither the read-ahead nor expressions need.
std::int64_t windowBytes(const StreamInput& input, const ObjectsAhead& ahead,
                         const SequencerOptions& options, const BufferPool& pool) {
    const std::int64_t bytes =
        ahead.leftOf(options.limitBytes > 0 ? options.limitBytes : pool.limitBytes());
    const std::int64_t making =
        memoryNeed(input.spec(), input.plan(), input.part(), options.threads).making;
    return std::max(bytes - making, bytes / 2);
}

class TurnSequencer final : public Sequencer {
 public:
    TurnSequencer(std::shared_ptr<const StreamInput> input, SequencerOptions options,
                  BufferPool& pool, StageCounters& counters, ring::FrameSink& sink)
        : input_(std::move(input)),
          options_(std::move(options)),
          pool_(pool),
          counters_(counters),
          sink_(sink),
          ahead_(*input_, pool),
          jobs_(
              counters, [this] { window_.wake(); }, options_.valuesToShare, options_.pieceRows,
              options_.stealing),
          window_(*input_, {options_.epochs,
                            options_.window > 0 ? options_.window : windowSize(options_.threads),
                            windowBytes(*input_, ahead_, options_, pool), options_.start,
                            mayHaveHead() ? options_.headRows : 0, options_.isOrdered, &counters,
                            &jobs_, options_.isOrdered ? options_.elsewhere : RemoteQueueLimits(),
                            options_.readersFetch ? &sink_ : nullptr}),
          countNames_(input_->recipe()),
          rest_(input_->microRows(), options_.start),
          tails_(options_.framePool != nullptr ? *options_.framePool : pool) {
        MutexLock lock(mutex_);
        position_ = options_.start;
        totals_.steps.resize(input_->recipe().stepNames().size());
        totals_.vocabularies.resize(input_->recipe().vocabularies().size());
        totals_.labels.resize(input_->recipe().heads().size());
    }

    Status run(std::stop_token stop) override;
    stream::Cursor position() const override {
        MutexLock lock(mutex_);
        return position_;
    }
    SequencerTotals totals() const override {
        MutexLock lock(mutex_);
        return totals_;
    }
    RemoteSegmentQueue& queue() override { return window_; }

 private:
    using Item = std::shared_ptr<FlightItem>;
    using Task = Window::Task;

    // Rows that fill up the rest of an earlier partition come first. Their number is known only
    // when the whole segment is computed, so such a segment gets none.
    bool mayHaveHead() const {
        const auto& rest = options_.start.rest;
        return options_.isOrdered &&
               (rest.empty() ||
                rest.front().segment >= input_->partitionStart(options_.start.segment));
    }
    // All but work() and compute() require the turn (docs/architecture/sequencer.md).
    void work(bool mayCompute);
    void compute(const Item& item, ThreadContext& context);
    void deliver(Task& task, ThreadContext& context);
    Status deliverNext(Task& task, ThreadContext& context, bool& isDone);
    Status report(const Status& status);
    Status deliverFrame(Task& task, std::int64_t index, ThreadContext& context, bool& gaveTurn);
    Status endSegment(const Task& task, ThreadContext& context);
    Status endEpoch(const Item& item);
    bool mustBeHere(const Task& task) const;
    Status startSegment(const Task& task, ThreadContext& context);
    Status deliverLead(const Task& task, ThreadContext& context);
    void startPart(const Task& task);
    void endHead(const Task& task);
    Status keepRows(const Task& task, const FrameRows& rows, std::int64_t segmentRow,
                    ThreadContext& context);
    /// Number of epochs whose objects are fetched ahead; 0 with workers elsewhere, which fetch
    /// themselves.
    std::uint32_t epochsAhead() const {
        return options_.elsewhere.segments > 0 ? 0 : options_.epochs;
    }
    Status keepForRest(const Task& task, ThreadContext& context);
    std::int64_t rowsInStartRest(std::int64_t segment) const;
    FrameRows fullFrame(std::int64_t index) const {
        const std::int64_t rows = input_->microRows();
        return {index, share_.lead + (index - firstFrame_) * rows, rows};
    }
    Status deliverJoined(const stream::JoinedBatch& joined, std::uint32_t epoch);
    bool isBefore(std::uint32_t epoch, std::int64_t number) const {
        return epoch == options_.start.epoch && number < options_.start.next;
    }
    bool isWanted(std::uint32_t epoch, std::int64_t number) const;
    Status leaveOut(const Task& task, ThreadContext& context);
    Result<bool> passOn(const Task& task, ThreadContext& context);
    Status leaveOut(const std::vector<frame::RowRange>& ranges, std::uint32_t epoch,
                    std::int64_t number);
    Result<ring::FrameSlot> reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number);
    void setPosition(const stream::Cursor& position, std::int64_t rows);
    void fail(const Status& error);

    const std::shared_ptr<const StreamInput> input_;
    const SequencerOptions options_;
    BufferPool& pool_;
    StageCounters& counters_;
    ring::FrameSink& sink_;
    const ObjectsAhead ahead_;
    WorkStealing jobs_;
    Window window_;
    const CountNames countNames_;
    std::stop_source stop_;

    // State of the delivering thread, passed on with the turn under the window's lock. After
    // Window::delivered() it belongs to another thread.
    stream::MicroBatchCount rest_;
    OpenTails tails_;  ///< of the segments that the open rest names
    BatchMeter joinedMeter_;
    const FlightItem* current_ = nullptr;  ///< item whose frames are being delivered; only compared
    stream::SegmentShare share_;           ///< of the current item, then of its whole segment
    std::vector<stream::RestPart> restBefore_;  ///< the rest before the segment; for its cursors
    std::int64_t nextFrame_ = 0;                ///< index in the segment
    std::int64_t firstFrame_ = 0;            ///< of the current item: earlier ones are the head's
    RowCounts counts_;                       ///< of the current segment's items so far
    std::optional<SegmentOutput> headLeft_;  ///< rows of a head that fill no frame

    mutable Mutex mutex_;
    stream::Cursor position_ MR_GUARDED_BY(mutex_);
    SequencerTotals totals_ MR_GUARDED_BY(mutex_);
    Status error_ MR_GUARDED_BY(mutex_);
};

Status TurnSequencer::run(std::stop_token stop) {
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
    window_.close();
    MutexLock lock(mutex_);
    return error_;
}

void TurnSequencer::fail(const Status& error) {
    {
        MutexLock lock(mutex_);
        if (error_.ok()) {
            error_ = error;
        }
    }
    stop_.request_stop();
    window_.stop();
}

void TurnSequencer::work(bool mayCompute) {
    ThreadContext context{
        SegmentRunner(input_, pool_, counters_, ahead_.readAhead(), epochsAhead(), &jobs_),
        FrameTools(input_->layout(), &counters_)};
    for (;;) {
        Task task = window_.next(mayCompute);
        switch (task.kind) {
            case Task::Kind::kStop:
                return;
            case Task::Kind::kCompute:
                compute(task.item, context);
                break;
            case Task::Kind::kHelp:
                context.runner.help();
                break;
            case Task::Kind::kDeliver:
                deliver(task, context);
                break;
        }
    }
}

void TurnSequencer::compute(const Item& item, ThreadContext& context) {
    std::optional<std::int64_t> flightNumber;
    if (options_.threads > 1 && !item->isAlone) {
        flightNumber = item->flightNumber;
    }
    window_.computed(item,
                     context.runner.run(item->epoch, item->segment, item->part, flightNumber));
}

void TurnSequencer::deliver(Task& task, ThreadContext& context) {
    if (!task.item) {
        const Status ended = sink_.endOfStream(stop_.get_token());
        if (!ended.ok()) {
            fail(ended);
        }
        window_.stop();
        return;
    }
    bool isDone = false;
    const Status status = deliverNext(task, context, isDone);
    if (!status.ok()) {
        fail(status);
    }
    if (isDone) {
        task.frames.reset();  // from here on only the item holds the memory
        window_.delivered(task.item, true);
    }
}

// Passes an error that is not the sink's own to the reader, at its position in the sequence.
Status TurnSequencer::report(const Status& status) {
    if (!status.ok()) {
        const Status ignored = sink_.error(status, stop_.get_token());
        (void)ignored;  // the reader may be gone; run() returns the error itself
    }
    return status;
}

// Delivers one unit: a micro-batch, or the step between two items. An item takes several calls,
// each on the thread that has the turn at the time. The turn is passed on either inside (a frame)
// or by the caller (isDone: the item is finished). On an error the run ends, so the turn stays.
Status TurnSequencer::deliverNext(Task& task, ThreadContext& context, bool& isDone) {
    const Item& item = task.item;
    isDone = true;
    if (item->isEpochEnd) {
        return endEpoch(item);
    }
    if (!task.frames) {
        return report(item->error);
    }
    if (item->isForRest) {
        return keepForRest(task, context);
    }
    if (current_ != item.get()) {  // null after each item, so a reused address counts as new
        if (mustBeHere(task)) {
            isDone = false;
            window_.returned(item);
            return okStatus();
        }
        startPart(task);
        if (item->part.kind != SegmentPart::Kind::kHead) {
            RETURN_IF_ERROR(startSegment(task, context));
        }
    }
    const std::int64_t firstNumber = share_.first + share_.firstFull();
    for (; nextFrame_ < share_.full; ++nextFrame_) {
        if (!isWanted(item->epoch, firstNumber + nextFrame_)) {
            RETURN_IF_ERROR(leaveOut(task, context));
            continue;
        }
        ASSIGN_OR_RETURN(const bool isPassedOn, passOn(task, context));
        if (!isPassedOn) {
            break;
        }
    }
    const bool isTail = nextFrame_ == share_.full;
    const bool needsFrame = !isTail || share_.tailRows > 0;
    if (needsFrame && !task.frames->isAtHand(isTail ? FrameRows::kTail : nextFrame_)) {
        isDone = false;
        window_.delivered(item, false, nextFrame_);
        return okStatus();
    }
    if (isTail) {
        current_ = nullptr;
        if (item->part.kind == SegmentPart::Kind::kHead) {
            endHead(task);
            return okStatus();
        }
        return endSegment(task, context);
    }
    bool gaveTurn = false;
    const Status status = deliverFrame(task, nextFrame_, context, gaveTurn);
    isDone = !gaveTurn;
    return status;
}

// If rows of an earlier partition fill up with this segment's first rows, all borders of its frames
// move. Frames that were cut elsewhere are then unusable.
bool TurnSequencer::mustBeHere(const Task& task) const {
    return task.frames->here() == nullptr &&
           rest_.isOfEarlier(input_->partitionStart(task.item->segment)) &&
           rest_.rows() + task.frames->rowsHeld() >= input_->microRows();
}

// Keeps the last rows of a segment before the cursor.
Status TurnSequencer::keepForRest(const Task& task, ThreadContext& context) {
    const std::int64_t held = task.frames->rowsHeld();
    const std::int64_t rows = std::min(held, rowsInStartRest(task.item->segment));
    return keepRows(task, {FrameRows::kTail, held - rows, rows},
                    task.frames->counts().rowsKept - rows, context);
}

// Called when delivery first reaches an item with rows. Rows left over by a head come before those
// of the rest, and are already counted.
void TurnSequencer::startPart(const Task& task) {
    const Item& item = task.item;
    const bool isFirst = item->part.kind != SegmentPart::Kind::kRest;
    if (isFirst) {
        restBefore_ = rest_.parts();
        nextFrame_ = 0;
        counts_ = {};
    }
    firstFrame_ = nextFrame_;
    current_ = item.get();
    counts_.add(task.frames->counts());
    {
        MutexLock lock(mutex_);
        totals_.segments += isFirst ? 1 : 0;
        totals_.add(task.frames->counts());
    }
    if (headLeft_) {
        task.frames->here()->prepend(*headLeft_, 0);
        headLeft_.reset();
    }
    share_ = {};
    share_.first = rest_.next();
    share_.full = firstFrame_ + task.frames->rowsHeld() / input_->microRows();
}

// All rows of the segment are computed, so its share of the sequence is known. The record goes out
// first: a reader that has seen a micro-batch of a later segment has all records before it.
Status TurnSequencer::startSegment(const Task& task, ThreadContext& context) {
    const Item& item = task.item;
    share_ = rest_.add(item->segment, counts_.rowsKept, input_->partitionStart(item->segment));
    const stream::SegmentRecord record{item->epoch,     item->segment,
                                       share_.first,    share_.count(),
                                       share_.tailRows, countNames_.sumsOf(counts_)};
    RETURN_IF_ERROR(sink_.segment(record, stop_.get_token()));
    return share_.lead > 0 ? deliverLead(task, context) : okStatus();
}

// Delivers the rest of an earlier partition, filled up with the segment's first rows. Inside the
// segment the cursor still names the rest from before the segment. A resume adds the segment again
// and computes the same lead.
Status TurnSequencer::deliverLead(const Task& task, ThreadContext& context) {
    const Item& item = task.item;
    RETURN_IF_ERROR(keepRows(task, {FrameRows::kLead, 0, share_.lead}, 0, context));
    RETURN_IF_ERROR(deliverJoined(*share_.joined, item->epoch));
    tails_.clear();
    if (isWanted(item->epoch, share_.first)) {
        setPosition({input_->streamHash(), input_->planHash(), item->epoch, share_.first + 1,
                     item->segment, 1, restBefore_},
                    0);
    }
    return okStatus();
}

std::int64_t TurnSequencer::rowsInStartRest(std::int64_t segment) const {
    for (const stream::RestPart& part : options_.start.rest) {
        if (part.segment == segment) {
            return part.rows;
        }
    }
    return 0;
}

void TurnSequencer::endHead(const Task& task) {
    SegmentOutput& left = headLeft_.emplace();
    left.prepend(task.frames->here()->output(), (share_.full - firstFrame_) * input_->microRows());
}

bool TurnSequencer::isWanted(std::uint32_t epoch, std::int64_t number) const {
    return !isBefore(epoch, number) && sink_.wants(epoch, number);
}

// Reports the row ids of a full micro-batch that the sink does not want.
Status TurnSequencer::leaveOut(const Task& task, ThreadContext& context) {
    const std::uint32_t epoch = task.item->epoch;
    const std::int64_t number = share_.first + share_.firstFull() + nextFrame_;
    if (isBefore(epoch, number)) {
        return okStatus();
    }
    const FrameRows rows = fullFrame(nextFrame_);
    return sink_.leftOut(epoch, number, rows.rows, task.frames->rowIds(rows, context.tools),
                         stop_.get_token());
}

// Gives the sink a reference to the next full micro-batch, if its reader fetches it from the worker
// that holds it. Returns false if the frame has to be written here.
Result<bool> TurnSequencer::passOn(const Task& task, ThreadContext& context) {
    if (task.frames->here() != nullptr || task.frames->isAtHand(nextFrame_)) {
        return false;
    }
    const std::optional<stream::FramePart> part = task.frames->part(nextFrame_);
    const std::uint32_t epoch = task.item->epoch;
    const std::int64_t inSegment = share_.firstFull() + nextFrame_;
    const std::int64_t number = share_.first + inSegment;
    if (!part || !sink_.takesPart(part->worker, epoch, number)) {
        return false;
    }
    const auto isGiven = sink_.part(*part, task.frames, epoch, number, stop_.get_token());
    if (!isGiven.ok() || !*isGiven) {
        return isGiven;
    }
    counters_.addMix(task.frames->mix(fullFrame(nextFrame_), context.tools));
    setPosition({input_->streamHash(), input_->planHash(), epoch, number + 1, task.item->segment,
                 inSegment + 1, restBefore_},
                part->rows);
    return true;
}

Status TurnSequencer::leaveOut(const std::vector<frame::RowRange>& ranges, std::uint32_t epoch,
                               std::int64_t number) {
    std::vector<std::uint32_t> files;
    std::vector<std::uint64_t> numbers;
    for (const frame::RowRange& range : ranges) {
        const auto fileIds = range.frame->rowFiles().subspan(range.from, range.to - range.from);
        const auto rowIds = range.frame->rowNumbers().subspan(range.from, range.to - range.from);
        files.insert(files.end(), fileIds.begin(), fileIds.end());
        numbers.insert(numbers.end(), rowIds.begin(), rowIds.end());
    }
    return sink_.leftOut(epoch, number, static_cast<std::int64_t>(files.size()),
                         stream::rowIdsHash(files, numbers), stop_.get_token());
}

Result<ring::FrameSlot> TurnSequencer::reserve(std::uint64_t bytes, std::uint32_t epoch,
                                               std::int64_t number) {
    StageTimer timer(counters_);
    auto slot = sink_.reserve(bytes, epoch, number, stop_.get_token());
    timer.waited(Stage::kCollate, Wait::kBlocked);
    return slot;
}

void TurnSequencer::setPosition(const stream::Cursor& position, std::int64_t rows) {
    MutexLock lock(mutex_);
    position_ = position;
    if (rows > 0) {
        ++totals_.microBatches;
        totals_.rowsDelivered += rows;
    }
}

// In the turn: measures, reserves, advances the position. Then the turn passes to a free thread,
// and this thread must no longer touch the turn's state. `context`, `item` (kept by enter()) and
// the slot are its own; position and totals have their lock.
Status TurnSequencer::deliverFrame(Task& task, std::int64_t index, ThreadContext& context,
                                   bool& gaveTurn) {
    const Item& item = task.item;
    const FrameRows rows = fullFrame(index);
    const std::int64_t inSegment = share_.firstFull() + index;
    const std::int64_t number = share_.first + inSegment;
    jobs_.firstIsDelivered();
    ASSIGN_OR_RETURN(const std::uint64_t bytes, task.frames->measure(rows, context.tools));
    ASSIGN_OR_RETURN(const ring::FrameSlot slot, reserve(bytes, item->epoch, number));
    ++nextFrame_;
    setPosition({input_->streamHash(), input_->planHash(), item->epoch, number + 1, item->segment,
                 inSegment + 1, restBefore_},
                rows.rows);
    window_.enter(item);
    gaveTurn = true;
    window_.delivered(item, false, index + 1);

    StageTimer timer(counters_);
    Status status = task.frames->write(rows, context.tools, slot.bytes,
                                       {item->epoch, static_cast<std::uint64_t>(item->segment),
                                        static_cast<std::uint32_t>(inSegment)});
    counters_.addMix(task.frames->mix(rows, context.tools));
    window_.wrote(item, *task.frames, index);
    task.frames.reset();  // the last writer frees its memory
    window_.leave(item);
    timer.stop(Stage::kCollate, rows.rows, static_cast<std::int64_t>(bytes));
    if (status.ok()) {
        status = sink_.commit(slot, item->epoch, number);
        timer.stop(Stage::kSink, rows.rows, static_cast<std::int64_t>(bytes));
    }
    return status;
}

// Copies rows that outlast their segment's memory. `segmentRow`: number of the first of them in the
// whole segment, of which the frames may hold only what a head left over.
Status TurnSequencer::keepRows(const Task& task, const FrameRows& rows, std::int64_t segmentRow,
                               ThreadContext& context) {
    if (rows.rows == 0) {
        return okStatus();
    }
    const Item& item = task.item;
    return tails_.keep(*task.frames, rows,
                       {item->epoch, static_cast<std::uint64_t>(item->segment), 0}, segmentRow,
                       context.tools);
}

// Runs after the segment's full micro-batches. Other threads may still be writing its frames; the
// tail is copied here, before the item is released.
Status TurnSequencer::endSegment(const Task& task, ThreadContext& context) {
    const Item& item = task.item;
    const std::int64_t rows = input_->microRows();
    jobs_.firstIsDelivered();  // also if filters leave no full frame
    const std::int64_t ahead = share_.lead + share_.full * rows;
    RETURN_IF_ERROR(keepRows(task, {FrameRows::kTail, ahead - firstFrame_ * rows, share_.tailRows},
                             ahead, context));
    if (share_.joined && share_.lead == 0) {
        RETURN_IF_ERROR(deliverJoined(*share_.joined, item->epoch));
    }
    const std::vector<stream::RestPart> parts = rest_.parts();
    tails_.keepOnly(parts);
    setPosition({input_->streamHash(), input_->planHash(), item->epoch, rest_.next(),
                 item->segment + 1, 0, parts},
                0);
    return okStatus();
}

// Joins a micro-batch from tails. It is small, so the turn is kept until it is committed.
Status TurnSequencer::deliverJoined(const stream::JoinedBatch& joined, std::uint32_t epoch) {
    if (isBefore(epoch, joined.number)) {
        return okStatus();
    }
    const auto rows = tails_.rowsOf(joined);
    RETURN_IF_ERROR(report(rows.status()));
    if (!isWanted(epoch, joined.number)) {
        return leaveOut(rows->ranges, epoch, joined.number);
    }
    if (joined.rows == input_->microRows()) {
        counters_.addMix(joinedMeter_.mixOf(rows->keys.requests, rows->keys.users));
    }
    ASSIGN_OR_RETURN(frame::FrameConcat concat,
                     frame::FrameConcat::make(input_->layout(), rows->ranges));
    ASSIGN_OR_RETURN(const ring::FrameSlot slot,
                     reserve(concat.totalBytes(), epoch, joined.number));
    RETURN_IF_ERROR(concat.write(slot.bytes, {epoch, static_cast<std::uint64_t>(joined.segment),
                                              static_cast<std::uint32_t>(joined.index)}));
    RETURN_IF_ERROR(sink_.commit(slot, epoch, joined.number));
    setPosition(position(), joined.rows);
    return okStatus();
}

Status TurnSequencer::endEpoch(const Item& item) {
    if (const auto joined = rest_.finish(input_->numSegments())) {
        RETURN_IF_ERROR(deliverJoined(*joined, item->epoch));
    }
    tails_.clear();
    // If a file changed during the read, it is unknown which version the rows come from. Checked
    // before the epoch is reported as complete.
    RETURN_IF_ERROR(report(input_->dataset()->verifyFiles()));
    RETURN_IF_ERROR(sink_.endOfEpoch(item->epoch, rest_.next(), stop_.get_token()));
    rest_.startEpoch();
    stream::Cursor next = stream::Cursor::start(input_->streamHash(), input_->planHash());
    next.epoch = item->epoch + 1;
    setPosition(next, 0);
    return okStatus();
}

}  // namespace

Result<std::unique_ptr<Sequencer>> Sequencer::make(std::shared_ptr<const StreamInput> input,
                                                   SequencerOptions options, BufferPool& pool,
                                                   StageCounters& counters, ring::FrameSink& sink) {
    if (options.threads < 1) {
        return invalidArgument("resources.loader_threads: at least one thread is needed");
    }
    if (options.start.streamHash.empty()) {
        options.start = stream::Cursor::start(input->streamHash(), input->planHash());
    }
    RETURN_IF_ERROR(stream::checkCursor(options.start, input->streamHash(), input->planHash(),
                                        input->numSegments(), input->microRows()));
    return std::make_unique<TurnSequencer>(std::move(input), std::move(options), pool, counters,
                                           sink);
}

}  // namespace millrace::segment
