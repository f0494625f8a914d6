#include "backend/segment/sequence/flight.h"

#include <algorithm>
#include <utility>

namespace millrace::segment {

Flight::Flight(const StreamInput& input, Options options)
    : input_(input),
      options_(std::move(options)),
      rest_(options_.start.rest.begin(), options_.start.rest.end()),
      epoch_(options_.start.epoch),
      segment_(options_.start.segment),
      count_(input.microRows(), options_.start) {
    if (segment_ < numSegments()) {
        part_ = input_.headOf(epoch_, segment_, options_.headRows);
    }
}

void Flight::popFront() {
    countItems();
    numCounted_ -= numCounted_ > 0 ? 1 : 0;
    items_.pop_front();
}

void Flight::countItems() {
    while (options_.fetching != nullptr && numCounted_ < items_.size()) {
        FlightItem& item = *items_[numCounted_];
        if (!item.isEpochEnd && !item.isForRest && !item.rowsKept) {
            return;
        }
        countItem(item);
        ++numCounted_;
    }
}

void Flight::countItem(FlightItem& item) {
    if (item.isEpochEnd) {
        static_cast<void>(count_.finish(numSegments()));
        count_.startEpoch();
    } else if (item.part.kind == SegmentPart::Kind::kHead) {
        headRows_ = *item.rowsKept;
    } else if (!item.isForRest) {
        const stream::SegmentShare share =
            count_.add(item.segment, std::exchange(headRows_, 0) + *item.rowsKept,
                       input_.partitionStart(item.segment));
        // Rows of an earlier partition move the borders of frames that were cut elsewhere.
        if (share.lead == 0) {
            item.firstNumber = share.first;
        }
    }
}

bool Flight::isPassedOn(const FlightItem& item, std::int64_t frame) const {
    return item.firstNumber && item.remote && item.remote->worker() != 0 &&
           frame < std::ssize(item.remote->facts().frames) &&
           options_.fetching->takesPart(item.remote->worker(), item.epoch,
                                        *item.firstNumber + frame);
}

stream::SegmentName Flight::foremost() const {
    return items_.empty() ? stream::SegmentName{epoch_, segment_} : items_.front()->name();
}

Flight::Item Flight::findElsewhere(const stream::SegmentName& name) const {
    const auto found = std::ranges::find_if(
        items_, [&name](const Item& item) { return item->isElsewhere() && item->name() == name; });
    return found == items_.end() ? nullptr : *found;
}

std::int64_t Flight::numElsewhere() const {
    return std::ranges::count_if(items_, [](const Item& item) { return item->isElsewhere(); });
}

void Flight::bringReady() {
    const auto end =
        std::ranges::find_if(items_, [](const Item& item) { return item->isEpochEnd; });
    const auto ready = std::find_if(items_.begin(), end, [](const Item& item) {
        return item->state == FlightItem::State::kReady;
    });
    if (ready != end) {
        std::rotate(items_.begin(), ready, ready + 1);
    }
}

void Flight::endEpochs(std::int64_t most) {
    while (rest_.empty() && epoch_ < options_.epochs && segment_ >= numSegments() &&
           std::ssize(items_) - numElsewhere() <= most) {
        auto item = std::make_shared<FlightItem>();
        item->epoch = epoch_;
        item->segment = numSegments();
        item->isEpochEnd = true;
        item->state = FlightItem::State::kReady;
        items_.push_back(std::move(item));
        ++epoch_;
        segment_ = 0;
    }
}

FlightItem Flight::next() const {
    FlightItem item;
    item.epoch = epoch_;
    item.isForRest = !rest_.empty();
    item.segment = item.isForRest ? rest_.front().segment : segment_;
    item.lastRows = item.isForRest ? rest_.front().rows : 0;
    item.part = item.isForRest ? SegmentPart() : part_;
    item.plannedBytes = input_.decodedBytes(item.epoch, item.segment, item.part);
    item.isHereOnly = !mayBeElsewhere(item);
    const bool isResumed =
        !item.isForRest &&
        item.name() == stream::SegmentName{options_.start.epoch, options_.start.segment};
    item.nextFrame = isResumed ? options_.start.offset : 0;
    return item;
}

// A stream's head must be computed here. So must a segment in front of which rows of an earlier
// partition may come: their number moves the borders of all frames, and is known only when every
// segment before it is computed.
bool Flight::mayBeElsewhere(const FlightItem& item) const {
    return item.part.kind == SegmentPart::Kind::kWhole &&
           (item.isForRest || item.segment == 0 ||
            input_.partitionStart(item.segment) != item.segment);
}

Flight::Item Flight::take(FlightItem next) {
    if (next.isForRest) {
        rest_.pop_front();
    } else if (next.part.kind == SegmentPart::Kind::kHead) {
        part_.kind = SegmentPart::Kind::kRest;
    } else {
        part_ = {};
        ++segment_;
    }
    next.flightNumber = flightNumber_++;
    return items_.emplace_back(std::make_shared<FlightItem>(std::move(next)));
}

stream::SegmentOrder Flight::orderOf(FlightItem& item) const {
    stream::SegmentOrder order;
    order.name = item.name();
    order.generation = item.nextGeneration++;
    order.lastRows = item.lastRows;
    order.decodedBytes = item.plannedBytes;
    for (const stream::SplitRef& split : input_.splitsOf(item.epoch, item.segment)) {
        order.files.push_back(split.file);
    }
    std::ranges::sort(order.files);
    order.files.erase(std::unique(order.files.begin(), order.files.end()), order.files.end());
    item.state = FlightItem::State::kComputing;
    item.out.push_back(order.generation);
    return order;
}

void Flight::took(FlightItem& item, std::shared_ptr<RemoteFrames> frames) {
    item.nextFrame = std::min(item.nextFrame, std::ssize(frames->facts().frames));
    item.asked.assign(static_cast<std::size_t>(frames->numFrames()), false);
    item.frames = item.remote = std::move(frames);
}

// Requests frames in the order of the sequence, up to the budget. The frame that delivery waits for
// is always requested, so later frames never take its room. If readers fetch frames themselves, an
// item's frames are requested once their numbers, and so their readers, are known.
std::vector<FrameAsk> Flight::asks(std::int64_t most) {
    countItems();
    const bool isShared = options_.fetching != nullptr && options_.fetching->takesParts();
    std::vector<FrameAsk> asks;
    bool hasRoom = true;
    for (std::size_t at = 0; at < items_.size() && hasRoom; ++at) {
        FlightItem& item = *items_[at];
        if (item.remote && item.state == FlightItem::State::kReady &&
            (at < numCounted_ || !isShared)) {
            hasRoom = askFor(item, at == 0, most, asks);
        }
    }
    return asks;
}

/// Returns false once `most` bytes are requested.
bool Flight::askFor(FlightItem& item, bool isFront, std::int64_t most,
                    std::vector<FrameAsk>& asks) {
    const std::int64_t end = item.remote->numFrames();
    // A frame that was to be fetched by its reader is waited for here: the reader cannot.
    const bool isBack =
        isFront && item.nextFrame < std::min(item.askedEnd, end) && !askedAt(item, item.nextFrame);
    item.askedEnd = isBack ? item.nextFrame : std::max(item.askedEnd, item.nextFrame);
    for (; item.askedEnd < end; ++item.askedEnd) {
        const std::int64_t frame = item.askedEnd;
        if (askedAt(item, frame) || isPassedOn(item, frame)) {
            continue;
        }
        const auto bytes = static_cast<std::int64_t>(item.remote->codedBytes(frame));
        const bool isWaitedFor = isFront && frame == item.nextFrame;
        if (codedBytes_ > 0 && codedBytes_ + bytes > most && !isWaitedFor) {
            return false;
        }
        codedBytes_ += bytes;
        item.codedBytes += bytes;
        askedAt(item, frame) = true;
        const bool isNext = !asks.empty() && asks.back().frames == item.remote &&
                            asks.back().span.first + asks.back().span.count == frame;
        if (!isNext) {
            asks.push_back({item.remote, {frame, 0}});
        }
        ++asks.back().span.count;
    }
    return true;
}

void Flight::wrote(FlightItem& item, std::int64_t frame) {
    if (!askedAt(item, frame)) {
        return;
    }
    const auto bytes = static_cast<std::int64_t>(item.remote->codedBytes(frame));
    item.codedBytes -= bytes;
    codedBytes_ -= bytes;
}

std::shared_ptr<RemoteFrames> Flight::dropRemote(FlightItem& item) {
    if (!item.remote) {
        return nullptr;
    }
    codedBytes_ -= std::exchange(item.codedBytes, 0);
    item.askedEnd = 0;
    item.asked.clear();
    item.frames.reset();
    return std::exchange(item.remote, nullptr);
}

}  // namespace millrace::segment
