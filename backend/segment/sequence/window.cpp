#include "backend/segment/sequence/window.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>

#include "backend/segment/sequence/local_frames.h"
#include "backend/text/text.h"

namespace millrace::segment {

namespace {

// Added to every estimate, so that many tiny segments are not estimated as 0 bytes. Segments
// planned smaller than this do not update the ratio.
constexpr std::int64_t kSmallSegment = 1 << 20;
// While it is computed a segment holds its columns and what the recipe makes of them.
constexpr double kComputingFactor = 1.5;

}  // namespace

Window::Window(const StreamInput& input, Options options)
    : input_(input),
      options_(std::move(options)),
      flight_(input, {options_.epochs, options_.start, options_.headRows, options_.fetching}),
      computesHere_(options_.queue.computesHere) {}

Window::~Window() {
    close();
}

// Frames that arrive later notify no one, and answers are not taken.
void Window::close() {
    std::vector<std::shared_ptr<RemoteFrames>> left;
    {
        MutexLock lock(mutex_);
        isStopped_ = true;
        changed_.notifyAll();
        for (const Item& item : flight_.items()) {
            left.push_back(flight_.dropRemote(*item));
        }
    }
    for (const auto& frames : left) {
        if (frames) {
            frames->onCame(nullptr);
        }
    }
}

void Window::stop() {
    MutexLock lock(mutex_);
    isStopped_ = true;
    changed_.notifyAll();
}

void Window::wake() {
    MutexLock lock(mutex_);
    changed_.notifyAll();
}

// The order of these checks is the policy (docs/architecture/sequencer.md): deliver what is ready,
// then compute what ran out of memory, then what was returned or is new, then help. Memory is thus
// freed before more is taken, and a thread helps only when it may not start a later segment.
Window::Task Window::next(bool mayCompute) {
    MutexLock lock(mutex_);
    while (!isStopped_) {
        flight_.endEpochs(options_.size);
        if (!options_.isOrdered && !isDelivering_) {
            flight_.bringReady();
        }
        if (canDeliverLocked()) {
            isDelivering_ = true;
            Item front = flight_.front();
            auto frames = front ? front->frames : nullptr;
            return {Task::Kind::kDeliver, std::move(front), std::move(frames)};
        }
        if (mayCompute) {
            Item item = retryLocked();
            if (!item) {
                item = claimHereLocked();
            }
            if (item) {
                return {Task::Kind::kCompute, std::move(item), nullptr};
            }
            if (options_.jobs != nullptr && options_.jobs->isOpen()) {
                return {Task::Kind::kHelp, nullptr, nullptr};
            }
        }
        waitLocked(mayCompute);
    }
    return {};
}

// Blocked: a thread that could compute one more segment has no room for it, as the sink is slow or
// memory is short. Starved: nothing is ready. Every change of an item wakes all threads, since what
// a thread may do depends on all items; there are at most as many sleepers as threads.
void Window::waitLocked(bool mayCompute) {
    const bool isMore = flight_.isMore();
    const auto start = std::chrono::steady_clock::now();
    changed_.wait(mutex_);
    if (options_.counters != nullptr) {
        const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(
            std::chrono::steady_clock::now() - start);
        options_.counters->addWait(mayCompute && isMore ? Stage::kRead : Stage::kCollate,
                                   mayCompute && isMore ? Wait::kBlocked : Wait::kStarved,
                                   ns.count());
    }
}

// With nothing left in flight the end of the stream is delivered: a null item.
bool Window::canDeliverLocked() const {
    if (isDelivering_) {
        return false;
    }
    const Item front = flight_.front();
    if (!front) {
        return !flight_.isMore();
    }
    if (front->state == FlightItem::State::kFailed) {
        return true;
    }
    return front->state == FlightItem::State::kReady &&
           (!front->remote || front->nextFrame >= front->remote->numFrames() ||
            front->remote->isAtHand(front->nextFrame) ||
            flight_.isPassedOn(*front, front->nextFrame));
}

bool Window::hasRetryLocked() const {
    return std::ranges::any_of(
        flight_.items(), [](const Item& item) { return item->state == FlightItem::State::kRetry; });
}

// Claims in plan order only: a later segment that would fit never overtakes one that does not. The
// window's front is therefore always the earliest, and nothing waits for a later item. While an
// item waits for a retry nothing new starts: the retry needs the memory.
Window::Item Window::claimHereLocked() {
    if (const Item open = openHereLocked()) {
        return claimOpenLocked(open);
    }
    if (!flight_.hasNext() || hasRetryLocked() ||
        std::ssize(flight_.items()) - flight_.numElsewhere() >= options_.size) {
        return nullptr;
    }
    FlightItem next = flight_.next();
    guessLocked(next);
    if (!fitsLocked(next) || (!computesHere_ && !next.isHereOnly)) {
        return nullptr;
    }
    Item item = flight_.take(std::move(next));
    holdLocked(*item);
    return item;
}

// The first item that came back from elsewhere, or that must be computed here.
Window::Item Window::openHereLocked() const {
    for (const Item& item : flight_.items()) {
        if (item->state == FlightItem::State::kOpen && (computesHere_ || item->isHereOnly)) {
            return item;
        }
    }
    return nullptr;
}

// The earliest item does not wait for room. Later items give up what they hold, as for an item that
// ran out of memory.
Window::Item Window::claimOpenLocked(const Item& open) {
    const bool isFront = open == flight_.front();
    guessLocked(*open);
    if (fitsLocked(*open) && (isFront || !hasRetryLocked())) {
        holdLocked(*open);
        return open;
    }
    if (!isFront) {
        return nullptr;
    }
    open->isHere = true;
    open->state = FlightItem::State::kRetry;
    return retryLocked();
}

void Window::guessLocked(FlightItem& item) const {
    item.heldBytes =
        static_cast<std::int64_t>(static_cast<double>(item.plannedBytes) * bytesPerPlanned_) +
        kSmallSegment;
}

bool Window::fitsLocked(const FlightItem& item) const {
    return options_.limitBytes == 0 || numHeld_ == 0 ||
           heldBytes_ + item.heldBytes <= options_.limitBytes;
}

void Window::holdLocked(FlightItem& item) {
    heldBytes_ += item.heldBytes;
    ++numHeld_;
    item.isHere = true;
    item.state = FlightItem::State::kComputing;
}

void Window::unholdLocked(FlightItem& item) {
    heldBytes_ -= item.heldBytes;
    --numHeld_;
}

// Retries the earliest item after it ran out of memory, once all others have released theirs. Later
// segments that are ready are dropped and computed again later, to the same bytes. Waits for those
// that are being computed or written from.
Window::Item Window::retryLocked() {
    const Item front = flight_.front();
    if (!front || front->state != FlightItem::State::kRetry) {
        return nullptr;
    }
    for (const Item& item : flight_.items()) {
        if (item->state == FlightItem::State::kReady && item->isHere) {
            item->state = FlightItem::State::kRetry;
            item->frames.reset();
            unholdLocked(*item);
        }
    }
    if (numHeld_ > 0) {
        return nullptr;
    }
    front->isAlone = true;
    holdLocked(*front);
    return front;
}

void Window::computed(const std::shared_ptr<FlightItem>& item, Result<SegmentOutput> output) {
    MutexLock lock(mutex_);
    if (!output.ok()) {
        failedLocked(*item, output.status());
    } else if (takeRowsLocked(*item, output->counts.rowsKept)) {
        // Replaces the estimate with the actual bytes. The factor becomes the last segment's, but
        // not below 1: too low an estimate costs a segment that is computed twice, too high a one
        // costs a thread that waits.
        const std::int64_t held = output->decodedBytes + kSmallSegment;
        heldBytes_ += held - item->heldBytes;
        item->heldBytes = held;
        if (item->plannedBytes > kSmallSegment) {
            const double ratio = kComputingFactor * static_cast<double>(held) /
                                 static_cast<double>(item->plannedBytes);
            bytesPerPlanned_ = std::max(ratio, std::min(bytesPerPlanned_, 1.0));
        }
        item->frames = std::make_shared<LocalFrames>(std::move(*output));
        item->state = FlightItem::State::kReady;
    }
    changed_.notifyAll();
}

// A segment is a pure function: computing it again must yield the same rows. A head and its rest
// are two items.
bool Window::takeRowsLocked(FlightItem& item, std::int64_t rowsKept) {
    if (!item.rowsKept || *item.rowsKept == rowsKept) {
        item.rowsKept = rowsKept;
        return true;
    }
    if (item.isHere) {
        unholdLocked(item);
    }
    item.state = FlightItem::State::kFailed;
    item.error = internalError(describe(item.name()), " kept ", *item.rowsKept, " rows, and ",
                               rowsKept, " when it was computed again");
    return false;
}

void Window::failedLocked(FlightItem& item, const Status& error) {
    unholdLocked(item);
    // Memory that others hold is freed later, and without helpers a segment needs less, so the run
    // need not end. The factor grows, so that fewer segments are started from now on.
    const bool isMemory = error.code() == absl::StatusCode::kResourceExhausted;
    if (isMemory && (numHeld_ > 0 || !item.isAlone)) {
        item.state = FlightItem::State::kRetry;
        bytesPerPlanned_ *= kComputingFactor;
        return;
    }
    item.state = FlightItem::State::kFailed;
    item.error = error;
    if (isMemory) {
        item.error =
            resourceExhausted("segment ", item.segment, " of about ",
                              formatBytes(static_cast<double>(item.plannedBytes)),
                              " decoded does not fit the memory limit (resources.memory_limit_mb; ",
                              formatBytes(static_cast<double>(options_.limitBytes)),
                              " of it are for segments): ", messageOf(error));
    }
}

void Window::delivered(const Item& item, bool isDone, std::int64_t nextFrame) {
    bool isFree = false;
    std::vector<FrameAsk> asks;
    {
        MutexLock lock(mutex_);
        isDelivering_ = false;
        item->nextFrame = nextFrame;
        if (isDone) {
            flight_.popFront();
            item->isDelivered = true;
            isFree = item->writers == 0 && !item->isEpochEnd;
        }
        if (options_.queue.segments > 0) {
            asks = flight_.asks(options_.queue.codedBytes);
        }
        changed_.notifyAll();
    }
    askFor(asks);
    if (isFree) {
        release(item);
    }
    if (isDone) {
        notifier_.tell();
    }
}

void Window::returned(const Item& item) {
    std::shared_ptr<RemoteFrames> dropped;
    std::vector<FrameAsk> asks;
    {
        MutexLock lock(mutex_);
        isDelivering_ = false;
        dropped = flight_.dropRemote(*item);
        item->out.clear();
        item->isHereOnly = true;
        item->state = FlightItem::State::kOpen;
        asks = flight_.asks(options_.queue.codedBytes);
        changed_.notifyAll();
    }
    if (dropped) {
        dropped->onCame(nullptr);
    }
    askFor(asks);
}

void Window::enter(const Item& item) {
    MutexLock lock(mutex_);
    ++item->writers;
}

void Window::leave(const Item& item) {
    bool isFree = false;
    {
        MutexLock lock(mutex_);
        isFree = --item->writers == 0 && item->isDelivered;
    }
    if (isFree) {
        release(item);
    }
}

void Window::wrote(const Item& item, const SegmentFrames& from, std::int64_t frame) {
    std::shared_ptr<RemoteFrames> frames;
    std::vector<FrameAsk> asks;
    {
        MutexLock lock(mutex_);
        if (item->remote.get() != &from) {
            return;  // computed here, or given up with all frames at hand
        }
        frames = item->remote;
        flight_.wrote(*item, frame);
        asks = flight_.asks(options_.queue.codedBytes);
    }
    frames->drop(frame);
    askFor(asks);
}

// Called by the last thread that uses the item, outside the lock: freeing a segment's memory takes
// long.
void Window::release(const Item& item) {
    std::shared_ptr<RemoteFrames> remote;
    std::vector<FrameAsk> asks;
    if (item->isHere) {
        item->frames.reset();
    }
    {
        MutexLock lock(mutex_);
        if (item->isHere) {
            unholdLocked(*item);
        }
        remote = flight_.dropRemote(*item);
        asks = flight_.asks(options_.queue.codedBytes);
        changed_.notifyAll();
    }
    if (remote) {
        remote->onCame(nullptr);
    }
    askFor(asks);
}

void Window::askFor(const std::vector<FrameAsk>& asks) {
    for (const FrameAsk& ask : asks) {
        ask.frames->ask(ask.span);
    }
}

std::optional<stream::SegmentOrder> Window::claim() {
    MutexLock lock(mutex_);
    if (options_.queue.segments == 0 || isStopped_) {
        return std::nullopt;
    }
    for (const Item& item : flight_.items()) {
        if (item->state == FlightItem::State::kOpen && !item->isHereOnly) {
            return flight_.orderOf(*item);
        }
    }
    flight_.endEpochs(options_.size);
    while (flight_.hasNext() && flight_.numElsewhere() < options_.queue.segments) {
        FlightItem next = flight_.next();
        next.state = FlightItem::State::kOpen;
        const Item item = flight_.take(std::move(next));
        if (!item->isHereOnly) {
            return flight_.orderOf(*item);
        }
        changed_.notifyAll();
        flight_.endEpochs(options_.size);
    }
    return std::nullopt;
}

std::optional<stream::SegmentOrder> Window::claimAgain(const stream::SegmentName& name) {
    MutexLock lock(mutex_);
    const Item item = flight_.findElsewhere(name);
    if (isStopped_ || !item || item->out.empty() || item->state != FlightItem::State::kComputing) {
        return std::nullopt;
    }
    return flight_.orderOf(*item);
}

bool Window::arrived(const std::shared_ptr<RemoteFrames>& frames) {
    std::vector<FrameAsk> asks;
    {
        MutexLock lock(mutex_);
        const Item item = flight_.findElsewhere(frames->order().name);
        const bool isOut = item && std::erase(item->out, frames->order().generation) > 0;
        if (isStopped_ || !isOut || item->state != FlightItem::State::kComputing) {
            return false;
        }
        if (takeRowsLocked(*item, frames->counts().rowsKept)) {
            flight_.took(*item, frames);
            item->state = FlightItem::State::kReady;
            asks = flight_.asks(options_.queue.codedBytes);
        }
        changed_.notifyAll();
    }
    frames->onCame([this] { wake(); });
    askFor(asks);
    notifier_.tell();
    return true;
}

void Window::lost(const stream::SegmentOrder& order) {
    std::shared_ptr<RemoteFrames> dropped;
    std::vector<FrameAsk> asks;
    {
        MutexLock lock(mutex_);
        const Item item = flight_.findElsewhere(order.name);
        if (!item) {
            return;
        }
        std::erase(item->out, order.generation);
        if (item->remote && item->remote->order().generation == order.generation) {
            dropped = flight_.dropRemote(*item);
            item->state = FlightItem::State::kComputing;
        }
        if (item->out.empty() && item->state == FlightItem::State::kComputing) {
            item->state = FlightItem::State::kOpen;
        }
        asks = flight_.asks(options_.queue.codedBytes);
        changed_.notifyAll();
    }
    if (dropped) {
        dropped->onCame(nullptr);
    }
    askFor(asks);
    notifier_.tell();
}

void Window::claimHere(const stream::SegmentName& name) {
    MutexLock lock(mutex_);
    const Item item = flight_.findElsewhere(name);
    if (item && !item->remote && item->state != FlightItem::State::kFailed) {
        item->out.clear();
        item->isHereOnly = true;
        item->state = FlightItem::State::kOpen;
        changed_.notifyAll();
    }
}

void Window::failed(const stream::SegmentOrder& order, const Status& error) {
    MutexLock lock(mutex_);
    const Item item = flight_.findElsewhere(order.name);
    const bool isOut = item && std::erase(item->out, order.generation) > 0;
    if (isOut && item->state == FlightItem::State::kComputing) {
        item->out.clear();
        item->state = FlightItem::State::kFailed;
        item->error = error;
        changed_.notifyAll();
    }
}

void Window::lookAgain() {
    std::vector<FrameAsk> asks;
    {
        MutexLock lock(mutex_);
        asks = flight_.asks(options_.queue.codedBytes);
        changed_.notifyAll();
    }
    askFor(asks);
}

void Window::setComputesHere(bool computes) {
    MutexLock lock(mutex_);
    computesHere_ = computes;
    changed_.notifyAll();
}

RemoteQueueState Window::state() const {
    MutexLock lock(mutex_);
    RemoteQueueState state;
    state.foremost = flight_.foremost();
    state.codedBytes = flight_.codedBytes();
    bool isOpen = false;
    for (const Item& item : flight_.items()) {
        state.numOut += item->out.empty() ? 0 : 1;
        state.numArrived += item->remote ? 1 : 0;
        isOpen |= item->state == FlightItem::State::kOpen && !item->isHereOnly;
    }
    const Item front = flight_.front();
    state.isForemostOut =
        front && !front->out.empty() && front->state == FlightItem::State::kComputing;
    state.isAtEnd = isStopped_ || (!flight_.isMore() && !isOpen);
    return state;
}

std::string Window::describe(const stream::SegmentName& name) const {
    return describeSegment(input_, name.epoch, name.segment);
}

}  // namespace millrace::segment
