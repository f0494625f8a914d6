#include "daemon/worker/loader/frame_slots.h"

#include <utility>

namespace millrace::loader {

Result<ring::FrameSlot> FrameSlots::take(std::uint64_t bytes) {
    const auto wanted = static_cast<std::int64_t>(bytes);
    segment::PooledBuffer buffer;
    {
        MutexLock lock(mutex_);
        if (!free_.empty()) {
            buffer = std::move(free_.back());
            free_.pop_back();
        }
    }
    if (buffer.size() < wanted) {
        ASSIGN_OR_RETURN(buffer, segment::PooledBuffer::allocate(pool_, wanted + wanted / 16));
    }
    MutexLock lock(mutex_);
    const std::uint64_t ticket = nextTicket_++;
    const ring::FrameSlot slot{buffer.bytes().first(bytes), ticket};
    taken_.emplace(ticket, std::move(buffer));
    return slot;
}

void FrameSlots::giveBack(std::uint64_t ticket) {
    MutexLock lock(mutex_);
    const auto taken = taken_.find(ticket);
    free_.push_back(std::move(taken->second));
    taken_.erase(taken);
}

}  // namespace millrace::loader
