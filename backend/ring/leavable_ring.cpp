#include "backend/ring/leavable_ring.h"

#include <utility>

namespace millrace::ring {
namespace {

/// Marks tickets of slots that are not in the ring.
constexpr std::uint64_t kScratch = std::uint64_t{1} << 63;

}  // namespace

/// Turns the ring's status into that of this sink.
Status LeavableRing::left(Status status) {
    if (status.code() == absl::StatusCode::kUnavailable && !hasLeft_.exchange(true)) {
        present_->fetch_sub(1);
    }
    if (!hasLeft_.load()) {
        return status;
    }
    return present_->load() > 0 ? okStatus() : unavailable("ring: all readers have left");
}

Result<FrameSlot> LeavableRing::scratch(std::uint64_t bytes) {
    RETURN_IF_ERROR(left(okStatus()));
    frame::FrameBuffer memory(bytes);
    FrameSlot slot{memory.bytes(), 0};
    MutexLock lock(mutex_);
    slot.ticket = kScratch | numScratch_++;
    scratch_.emplace(slot.ticket, std::move(memory));
    return slot;
}

template <class Call>
Status LeavableRing::filled(const FrameSlot& slot, Call call) {
    if ((slot.ticket & kScratch) == 0) {
        return left(call());
    }
    {
        MutexLock lock(mutex_);
        scratch_.erase(slot.ticket);
    }
    return left(okStatus());
}

bool LeavableRing::wants(std::uint32_t epoch, std::int64_t number) const {
    return !hasLeft_.load() && ring_->wants(epoch, number);
}

Result<FrameSlot> LeavableRing::reserve(std::uint64_t bytes, std::uint32_t epoch,
                                        std::int64_t number, std::stop_token stop) {
    if (!hasLeft_.load()) {
        Result<FrameSlot> slot = ring_->reserve(bytes, epoch, number, std::move(stop));
        if (slot.ok()) {
            return slot;
        }
        RETURN_IF_ERROR(left(slot.status()));
    }
    return scratch(bytes);
}

Result<FrameSlot> LeavableRing::reserveStep(std::stop_token stop) {
    if (!hasLeft_.load()) {
        Result<FrameSlot> slot = ring_->reserveStep(std::move(stop));
        if (slot.ok()) {
            return slot;
        }
        RETURN_IF_ERROR(left(slot.status()));
    }
    return scratch(0);
}

Status LeavableRing::commit(const FrameSlot& slot, std::uint32_t epoch, std::int64_t number) {
    return filled(slot, [&] { return ring_->commit(slot, epoch, number); });
}

Status LeavableRing::commitJoined(const FrameSlot& slot, const FrameNumbers& of,
                                  std::uint64_t bytes) {
    return filled(slot, [&] { return ring_->commitJoined(slot, of, bytes); });
}

Status LeavableRing::commitNothing(const FrameSlot& slot) {
    return filled(slot, [&] { return ring_->commitNothing(slot); });
}

Status LeavableRing::commitStep(const FrameSlot& slot, const stream::StepMark& mark) {
    return filled(slot, [&] { return ring_->commitStep(slot, mark); });
}

/// The slot stays reserved.
Status LeavableRing::park(const FrameSlot& slot) {
    return (slot.ticket & kScratch) == 0 ? left(ring_->park(slot)) : left(okStatus());
}

Status LeavableRing::columns(std::span<const std::byte> frame, std::stop_token stop) {
    return told([&] { return ring_->columns(frame, stop); });
}

Status LeavableRing::segment(const stream::SegmentRecord& record, std::stop_token stop) {
    return told([&] { return ring_->segment(record, stop); });
}

Status LeavableRing::endOfEpoch(std::uint32_t epoch, std::int64_t total, std::stop_token stop) {
    return told([&] { return ring_->endOfEpoch(epoch, total, stop); });
}

Status LeavableRing::endOfStream(std::stop_token stop) {
    return told([&] { return ring_->endOfStream(stop); });
}

Status LeavableRing::error(const Status& why, std::stop_token stop) {
    return told([&] { return ring_->error(why, stop); });
}

}  // namespace millrace::ring
