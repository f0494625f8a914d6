#include "backend/ring/ring_sink.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

#include "backend/frame/format.h"

namespace millrace::ring {
namespace {

struct FrameRows {
    std::int64_t rows = 0;
    Sum128 ids;
};

/// Of a frame that was just written: its first two columns. The memory is shared with the reader,
/// so what is read is checked.
Result<FrameRows> rowsOf(std::span<const std::byte> bytes) {
    constexpr std::size_t kColumns = 2;
    frame::FrameHeader header;
    frame::ColumnEntry entries[kColumns];
    if (bytes.size() < sizeof header + sizeof entries) {
        return invalidArgument("ring: a frame without row ids");
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    std::memcpy(&entries, bytes.data() + sizeof header, sizeof entries);
    const std::uint64_t rows = header.rows;
    const auto isInside = [&](const frame::ColumnEntry& entry, std::uint64_t width) {
        return entry.data.offset <= bytes.size() && entry.data.offset % width == 0 &&
               rows * width <= bytes.size() - entry.data.offset;
    };
    if (!isInside(entries[0], sizeof(std::uint32_t)) ||
        !isInside(entries[1], sizeof(std::uint64_t))) {
        return dataLoss("ring: a frame's row ids lie outside of it");
    }
    const auto* files = bytes.data() + entries[0].data.offset;
    const auto* numbers = bytes.data() + entries[1].data.offset;
    return FrameRows{static_cast<std::int64_t>(rows),
                     stream::rowIdsHash({reinterpret_cast<const std::uint32_t*>(files), rows},
                                        {reinterpret_cast<const std::uint64_t*>(numbers), rows})};
}

}  // namespace

RingSink::RingSink(std::vector<Rank> ranks, const Options& options)
    : ranks_(std::move(ranks)),
      worldSize_(options.worldSize),
      perStep_(options.perStep),
      orderHash_(options.orderHash),
      rowsDelivered_(options.rowsDelivered) {
    INVARIANT(worldSize_ >= 1 && perStep_ >= 1, "there is a rank and a step has a micro-batch");
}

/// The index of the ring that a micro-batch is dealt to; the number of rings: not served here.
std::size_t RingSink::ringOf(std::int64_t number) const {
    const auto wanted = static_cast<int>(number % worldSize_);
    const auto found = std::find_if(ranks_.begin(), ranks_.end(),
                                    [wanted](const Rank& rank) { return rank.rank == wanted; });
    return static_cast<std::size_t>(found - ranks_.begin());
}

bool RingSink::wants(std::uint32_t epoch, std::int64_t number) const {
    const std::size_t ring = ringOf(number);
    if (ring == ranks_.size()) {
        return false;
    }
    const std::optional<FeedPosition>& next = ranks_[ring].next;
    return !next || std::tie(epoch, number) >= std::tie(next->epoch, next->number);
}

// The open step has all it gets: its mark takes its place in every ring, and is filled there once
// everything before it was committed.
Status RingSink::closeStep(bool isLast, const std::stop_token& stop) {
    std::vector<FrameSlot> slots;
    for (const Rank& rank : ranks_) {
        Result<FrameSlot> slot = rank.ring->reserveStep(stop);
        RETURN_IF_ERROR(noted(slot.status()));
        slots.push_back(*slot);
    }
    isOpen_ = false;
    MutexLock lock(mutex_);
    steps_.back().mark.isLast = isLast;
    steps_.back().slots = std::move(slots);
    return fillMarksLocked();
}

Status RingSink::closeBefore(std::uint32_t epoch, std::int64_t number,
                             const std::stop_token& stop) {
    if (isOpen_ && number >= openEnd_) {
        RETURN_IF_ERROR(closeStep(false, stop));
    }
    if (!isOpen_) {
        isOpen_ = true;
        openEnd_ = (number / perStep_ + 1) * perStep_;
        Step step;
        step.mark.epoch = epoch;
        step.mark.number = number;
        step.shares.resize(ranks_.size());
        MutexLock lock(mutex_);
        steps_.push_back(std::move(step));
    }
    return okStatus();
}

/// One more micro-batch of the open step.
void RingSink::give(std::uint32_t epoch, std::int64_t number) {
    MutexLock lock(mutex_);
    Step& step = steps_.back();
    INVARIANT(step.mark.epoch == epoch && step.mark.number == number,
              "micro-batches come in the order of their numbers");
    ++step.mark.number;
    ++step.mark.batches;
    ++step.missing;
}

Status RingSink::count(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                       const Sum128& rowIds) {
    const Sum128 hash = stream::batchHash(epoch, static_cast<std::uint64_t>(number), rowIds);
    const std::size_t ring = ringOf(number);
    MutexLock lock(mutex_);
    const auto step = std::find_if(steps_.begin(), steps_.end(), [&](const Step& s) {
        return std::tie(epoch, number) < std::tie(s.mark.epoch, s.mark.number);
    });
    INVARIANT(step != steps_.end() && step->missing > 0, "it was given before");
    --step->missing;
    step->hash += hash;
    step->mark.rows += rows;
    if (ring < ranks_.size()) {
        stream::StepMark::Share& share = step->shares[ring];
        ++share.batches;
        share.rows += rows;
        share.hash += hash;
    }
    return fillMarksLocked();
}

Status RingSink::fillMarksLocked() {
    while (!steps_.empty() && steps_.front().missing == 0 && !steps_.front().slots.empty()) {
        Step& step = steps_.front();
        orderHash_.add(stream::OrderHash(step.hash));
        rowsDelivered_ += step.mark.rows;
        step.mark.orderHash = orderHash_;
        step.mark.rowsDelivered = rowsDelivered_;
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            step.mark.own = step.shares[r];
            RETURN_IF_ERROR(noted(ranks_[r].ring->commitStep(step.slots[r], step.mark)));
        }
        steps_.pop_front();
    }
    return okStatus();
}

Status RingSink::leftOut(std::uint32_t epoch, std::int64_t number, std::int64_t rows,
                         const Sum128& rowIds, std::stop_token stop) {
    RETURN_IF_ERROR(closeBefore(epoch, number, stop));
    give(epoch, number);
    return count(epoch, number, rows, rowIds);
}

Result<FrameSlot> RingSink::reserve(std::uint64_t bytes, std::uint32_t epoch, std::int64_t number,
                                    std::stop_token stop) {
    RETURN_IF_ERROR(closeBefore(epoch, number, stop));
    Result<FrameSlot> slot =
        ranks_[ringOf(number)].ring->reserve(bytes, epoch, number, std::move(stop));
    RETURN_IF_ERROR(noted(slot.status()));
    give(epoch, number);
    return slot;
}

Status RingSink::commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) {
    // Before the commit: the frame is the reader's afterwards.
    ASSIGN_OR_RETURN(const FrameRows of, rowsOf(slot.bytes));
    RETURN_IF_ERROR(noted(ranks_[ringOf(number)].ring->commit(slot, epoch, number)));
    return count(epoch, number, of.rows, of.ids);
}

Status RingSink::segment(const stream::SegmentRecord& record, std::stop_token stop) {
    if (isOpen_ && record.first >= openEnd_ && record.count > 0) {
        RETURN_IF_ERROR(closeStep(false, stop));
    }
    return all([&](FrameSink& ring) { return ring.segment(record, stop); });
}

Status RingSink::endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) {
    if (!isOpen_) {
        RETURN_IF_ERROR(closeBefore(epoch, total, stop));  // a mark without micro-batches
    }
    RETURN_IF_ERROR(closeStep(true, stop));
    return all([&](FrameSink& ring) { return ring.endOfEpoch(epoch, total, stop); });
}

Status RingSink::endOfStream(std::stop_token stop) {
    return all([&](FrameSink& ring) { return ring.endOfStream(stop); });
}

Status RingSink::error(const Status& why, std::stop_token stop) {
    for (const Rank& rank : ranks_) {
        RETURN_IF_ERROR(rank.ring->error(why, stop));  // a reader that goes now is no reason
    }
    return okStatus();
}

}  // namespace millrace::ring
