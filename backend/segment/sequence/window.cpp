#include "backend/segment/sequence/window.h"

#include <algorithm>
#include <chrono>
#include <iterator>

#include "backend/core/text.h"

namespace millrace::segment {

namespace {

// Added to every guess, so that many tiny segments count for something too; plans below it say
// nothing of the ratio.
constexpr std::int64_t kSmallSegment = 1 << 20;
// While it is computed a segment holds its columns and what the recipe makes of them.
constexpr double kComputingFactor = 1.5;

}  // namespace

Window::Window(const StreamInput& input, Options options)
    : input_(input), options_(std::move(options)) {
    MutexLock lock(mutex_);
    epoch_ = options_.start.epoch;
    segment_ = options_.start.segment;
    for (const stream::RestPart& part : options_.start.rest) {
        restSegments_.push_back(part.segment);
    }
    if (segment_ < input_.numSegments()) {
        part_ = input_.headOf(epoch_, segment_, options_.headRows);
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

// The order of the questions is the policy (docs/architecture/sequencer.md): deliver what is ready,
// then compute what failed for memory, then something new, then help. So memory is given back
// before more is taken, and a thread that could begin a later segment only helps when it may not.
Window::Task Window::next(bool mayCompute) {
    MutexLock lock(mutex_);
    while (!isStopped_) {
        endEpochsLocked();
        if (!options_.isOrdered && !isDelivering_) {
            bringReadyLocked();
        }
        if (canDeliverLocked()) {
            isDelivering_ = true;
            return {Task::Kind::kDeliver, flight_.empty() ? nullptr : flight_.front()};
        }
        if (mayCompute) {
            auto item = retryLocked();
            if (!item) {
                item = claimLocked();
            }
            if (item) {
                return {Task::Kind::kCompute, std::move(item)};
            }
            if (options_.jobs != nullptr && options_.jobs->isOpen()) {
                return {Task::Kind::kHelp, nullptr};
            }
        }
        waitLocked(mayCompute);
    }
    return {};
}

// A thread that could compute one more segment has no room for it (the sink is slow, or memory is
// short: blocked); all others have nothing ready (starved). Every change of an item wakes all:
// there are as many sleepers as threads at most, and what one of them may do depends on all items.
void Window::waitLocked(bool mayCompute) {
    const bool isMore = !restSegments_.empty() || epoch_ < options_.epochs;
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

// Puts the first item of the foremost epoch that is ready in front of those that are not.
void Window::bringReadyLocked() {
    const auto end = std::find_if(flight_.begin(), flight_.end(),
                                  [](const auto& item) { return item->isEpochEnd; });
    const auto ready = std::find_if(flight_.begin(), end, [](const auto& item) {
        return item->state == FlightItem::State::kReady;
    });
    if (ready != end) {
        std::rotate(flight_.begin(), ready, ready + 1);
    }
}

// With nothing left in flight the end of the stream is delivered: a null item.
bool Window::canDeliverLocked() const {
    if (isDelivering_) {
        return false;
    }
    if (flight_.empty()) {
        return epoch_ >= options_.epochs;
    }
    const FlightItem::State state = flight_.front()->state;
    return state == FlightItem::State::kReady || state == FlightItem::State::kFailed;
}

// Puts the ends of epochs into the flight as soon as there is room. They need no thread to compute
// them and do not count against it: one more may stand there than the window has items.
void Window::endEpochsLocked() {
    while (restSegments_.empty() && epoch_ < options_.epochs && segment_ >= input_.numSegments() &&
           std::ssize(flight_) <= options_.size) {
        auto item = std::make_shared<FlightItem>();
        item->epoch = epoch_;
        item->segment = input_.numSegments();
        item->isEpochEnd = true;
        item->state = FlightItem::State::kReady;
        flight_.push_back(std::move(item));
        ++epoch_;
        segment_ = 0;
    }
}

bool Window::hasRetryLocked() const {
    return std::any_of(flight_.begin(), flight_.end(),
                       [](const auto& item) { return item->state == FlightItem::State::kRetry; });
}

// What follows the flight.
FlightItem Window::nextLocked() const {
    FlightItem item;
    item.epoch = epoch_;
    item.isForRest = !restSegments_.empty();
    item.segment = item.isForRest ? restSegments_.front() : segment_;
    item.part = item.isForRest ? SegmentPart() : part_;
    item.plannedBytes = input_.decodedBytes(item.epoch, item.segment, item.part);
    return item;
}

void Window::advanceLocked(const FlightItem& item) {
    if (item.isForRest) {
        restSegments_.pop_front();
    } else if (item.part.kind == SegmentPart::Kind::kHead) {
        part_.kind = SegmentPart::Kind::kRest;
    } else {
        part_ = {};
        ++segment_;
    }
}

// In plan order only: a later segment that would fit never passes one that does not, so the
// window's front is always the foremost, and nothing waits for what stands behind it. While one
// waits to be tried again nothing new is begun: it needs the memory.
std::shared_ptr<FlightItem> Window::claimLocked() {
    const bool hasRoom = std::ssize(flight_) < options_.size && !hasRetryLocked();
    if (!hasRoom || (restSegments_.empty() && epoch_ >= options_.epochs)) {
        return nullptr;
    }
    FlightItem next = nextLocked();
    next.heldBytes =
        static_cast<std::int64_t>(static_cast<double>(next.plannedBytes) * bytesPerPlanned_) +
        kSmallSegment;
    const bool fits = options_.limitBytes == 0 || numHeld_ == 0 ||
                      heldBytes_ + next.heldBytes <= options_.limitBytes;
    if (!fits) {
        return nullptr;
    }
    advanceLocked(next);
    auto item = std::make_shared<FlightItem>(std::move(next));
    item->flightNumber = flightNumber_++;
    holdLocked(*item);
    flight_.push_back(item);
    return item;
}

void Window::holdLocked(FlightItem& item) {
    heldBytes_ += item.heldBytes;
    ++numHeld_;
    item.state = FlightItem::State::kComputing;
}

// The foremost item when it ran out of memory: once everything else has let go of its own. Segments
// that are ready behind it are thrown away and computed again later, to the same bytes; those that
// are being computed or written from are waited for.
std::shared_ptr<FlightItem> Window::retryLocked() {
    if (flight_.empty() || flight_.front()->state != FlightItem::State::kRetry) {
        return nullptr;
    }
    for (const auto& item : flight_) {
        if (item->state == FlightItem::State::kReady && !item->isEpochEnd) {
            item->state = FlightItem::State::kRetry;
            item->output.reset();
            heldBytes_ -= item->heldBytes;
            --numHeld_;
        }
    }
    if (numHeld_ > 0) {
        return nullptr;
    }
    flight_.front()->isAlone = true;
    holdLocked(*flight_.front());
    return flight_.front();
}

void Window::computed(const std::shared_ptr<FlightItem>& item, Result<SegmentOutput> output) {
    MutexLock lock(mutex_);
    if (!output.ok()) {
        failedLocked(*item, output.status());
    } else {
        // The guess goes, what it does hold comes. The factor is the last
        // segment's, but not below 1: too small a guess costs a segment that is computed twice, too
        // large a one a thread that waits.
        const std::int64_t held = output->decodedBytes + kSmallSegment;
        heldBytes_ += held - item->heldBytes;
        item->heldBytes = held;
        if (item->plannedBytes > kSmallSegment) {
            const double ratio = kComputingFactor * static_cast<double>(held) /
                                 static_cast<double>(item->plannedBytes);
            bytesPerPlanned_ = std::max(ratio, std::min(bytesPerPlanned_, 1.0));
        }
        item->output = std::move(*output);
        item->state = FlightItem::State::kReady;
    }
    changed_.notifyAll();
}

void Window::failedLocked(FlightItem& item, const Status& error) {
    heldBytes_ -= item.heldBytes;
    --numHeld_;
    // Memory that others hold comes back, and without help a segment needs less: no reason to end
    // the run. The factor grows, so that fewer are begun from now on.
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

void Window::delivered(const std::shared_ptr<FlightItem>& item, bool isDone) {
    bool isFree = false;
    {
        MutexLock lock(mutex_);
        isDelivering_ = false;
        if (isDone) {
            flight_.pop_front();
            item->isDelivered = true;
            isFree = item->writers == 0 && !item->isEpochEnd;
        }
        changed_.notifyAll();
    }
    if (isFree) {
        release(item);
    }
}

void Window::enter(const std::shared_ptr<FlightItem>& item) {
    MutexLock lock(mutex_);
    ++item->writers;
}

void Window::leave(const std::shared_ptr<FlightItem>& item) {
    bool isFree = false;
    {
        MutexLock lock(mutex_);
        isFree = --item->writers == 0 && item->isDelivered;
    }
    if (isFree) {
        release(item);
    }
}

// By the last that had to do with the item, outside of the lock: giving back a segment's memory
// takes long.
void Window::release(const std::shared_ptr<FlightItem>& item) {
    item->output.reset();
    MutexLock lock(mutex_);
    heldBytes_ -= item->heldBytes;
    --numHeld_;
    changed_.notifyAll();
}

}  // namespace millrace::segment
