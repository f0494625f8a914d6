#include "daemon/worker/wire/owed_frames.h"

#include <utility>

#include "backend/core/clock.h"
#include "daemon/worker/wire/order_name.h"

namespace millrace::wire {

void OwedFrames::ask(const stream::SegmentOrder& order, std::int64_t frame, const FrameSize& size,
                     Deliver to) {
    MutexLock lock(mutex_);
    Partial& partial = owed_[nameOf(order)][frame];
    partial.size = size.codedBytes;
    partial.rawBytes = size.rawBytes;
    partial.to = std::move(to);
    waitingSinceNs_ = numOwed_ == 0 ? SystemClock().steadyNs() : waitingSinceNs_;
    ++numOwed_;
}

void OwedFrames::forget(const stream::SegmentOrder& order) {
    Frames dropped;
    MutexLock lock(mutex_);
    const auto place = owed_.find(nameOf(order));
    if (place != owed_.end()) {
        dropped.swap(place->second);
        owed_.erase(place);
        gotLocked(dropped.size());
    }
}

void OwedFrames::forget(const stream::SegmentOrder& order, std::int64_t frame) {
    Deliver dropped = [](std::int64_t, const Result<segment::CodedFrame>&) { return okStatus(); };
    MutexLock lock(mutex_);
    const auto place = owed_.find(nameOf(order));
    const auto at = place == owed_.end() ? Frames::iterator() : place->second.find(frame);
    if (place != owed_.end() && at != place->second.end()) {
        at->second.to.swap(dropped);  // its chunks may still be on their way
    }
}

void OwedFrames::end(const Status& why) {
    std::map<Name, Frames> owed;
    {
        MutexLock lock(mutex_);
        owed.swap(owed_);
        gotLocked(numOwed_);
    }
    for (const auto& [name, frames] : owed) {
        for (const auto& [frame, partial] : frames) {
            static_cast<void>(partial.to(frame, why));
        }
    }
}

void OwedFrames::gotLocked(std::size_t frames) {
    numOwed_ -= frames;
    if (frames > 0 && numOwed_ == 0) {
        traffic_.waitNs += SystemClock().steadyNs() - waitingSinceNs_;
    }
}

Traffic OwedFrames::traffic() const {
    MutexLock lock(mutex_);
    Traffic traffic = traffic_;
    traffic.waitNs += numOwed_ > 0 ? SystemClock().steadyNs() - waitingSinceNs_ : 0;
    return traffic;
}

Status OwedFrames::came(const FrameChunk& chunk, const Shared& shared) {
    Whole whole;
    {
        MutexLock lock(mutex_);
        RETURN_IF_ERROR(addLocked(chunk, shared, whole));
    }
    return whole.to
               ? whole.to(static_cast<std::int64_t>(chunk.head.frame()), std::move(whole.coded))
               : okStatus();
}

// A frame of an order that was forgotten may still have been on its way: it is ignored.
Status OwedFrames::addLocked(const FrameChunk& chunk, const Shared& shared, Whole& whole) {
    const Name name = nameOf(orderOf(chunk.head.name()));
    const auto index = static_cast<std::int64_t>(chunk.head.frame());
    const auto place = owed_.find(name);
    if (place == owed_.end()) {
        return okStatus();
    }
    const auto frame = place->second.find(index);
    if (frame == place->second.end()) {
        return dataLoss("frame ", index, " of segment ", name.name.segment,
                        " came without being asked for");
    }
    Partial& partial = frame->second;
    if (chunk.head.is_missing()) {
        whole.coded = notFound("frame ", index, " of segment ", name.name.segment,
                               ": its worker does not hold it any more");
    } else if (chunk.head.coded_bytes() != partial.size) {
        return dataLoss("frame ", index, " of segment ", name.name.segment, " came as ",
                        chunk.head.coded_bytes(), " bytes; ", partial.size, " were announced");
    } else if (chunk.head.has_place()) {
        if (!shared) {
            return dataLoss("a frame came in shared memory without a channel for it");
        }
        ASSIGN_OR_RETURN(whole.coded, shared(chunk));
    } else {
        RETURN_IF_ERROR(addBytesLocked(chunk, partial, whole));
        if (partial.come < partial.size) {
            return okStatus();
        }
    }
    whole.to = std::move(partial.to);
    place->second.erase(frame);
    gotLocked(1);
    return okStatus();
}

// The chunks of a frame arrive in order.
Status OwedFrames::addBytesLocked(const FrameChunk& chunk, Partial& partial, Whole& whole) {
    if (chunk.head.offset() != partial.come || chunk.bytes > partial.size - partial.come) {
        return dataLoss("a chunk of ", chunk.bytes, " bytes came at ", chunk.head.offset(), " of ",
                        partial.size, "; ", partial.come, " were there");
    }
    if (partial.bytes == nullptr) {
        ASSIGN_OR_RETURN(partial.bytes, memory_->take(partial.size));
    }
    chunk.copyTo(partial.bytes.get() + partial.come);
    partial.come += chunk.bytes;
    traffic_.bytes += chunk.bytes;
    if (partial.come == partial.size) {
        traffic_.rawBytes += partial.rawBytes;
        whole.coded = segment::CodedFrame{partial.bytes, {partial.bytes.get(), partial.size}, {}};
    }
    return okStatus();
}

}  // namespace millrace::wire
