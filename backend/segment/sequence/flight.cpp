#include "backend/segment/sequence/flight.h"

#include <algorithm>
#include <utility>

namespace millrace::segment {

Flight::Flight(const StreamInput& input, Options options)
    : input_(input),
      options_(std::move(options)),
      rest_(options_.start.rest.begin(), options_.start.rest.end()),
      epoch_(options_.start.epoch),
      segment_(options_.start.segment) {
    if (segment_ < numSegments()) {
        part_ = input_.headOf(epoch_, segment_, options_.headRows);
    }
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

// Requests frames in the order of the sequence, up to the budget. The frame that delivery waits for
// is always requested, so later frames never take its room.
std::vector<FrameAsk> Flight::asks(std::int64_t most) {
    std::vector<FrameAsk> asks;
    bool hasRoom = true;
    for (auto at = items_.begin(); at != items_.end() && hasRoom; ++at) {
        FlightItem& item = **at;
        if (!item.remote || item.state != FlightItem::State::kReady) {
            continue;
        }
        item.askedEnd = std::max(item.askedEnd, item.nextFrame);
        FrameAsk ask{item.remote, {item.askedEnd, 0}};
        while (hasRoom && item.askedEnd < item.remote->numFrames()) {
            const auto bytes = static_cast<std::int64_t>(item.remote->codedBytes(item.askedEnd));
            const bool isWaitedFor = at == items_.begin() && item.askedEnd == item.nextFrame;
            hasRoom = codedBytes_ == 0 || codedBytes_ + bytes <= most || isWaitedFor;
            if (hasRoom) {
                codedBytes_ += bytes;
                item.codedBytes += bytes;
                ++item.askedEnd;
                ++ask.span.count;
            }
        }
        if (ask.span.count > 0) {
            asks.push_back(std::move(ask));
        }
    }
    return asks;
}

void Flight::wrote(FlightItem& item, std::int64_t frame) {
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
    item.frames.reset();
    return std::exchange(item.remote, nullptr);
}

}  // namespace millrace::segment
