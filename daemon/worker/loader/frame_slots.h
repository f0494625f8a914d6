#pragma once
// FrameSlots: slots for frames that a sink reads and drops: reused buffers of a pool.
//
// Threads: any. Ownership: the pool outlives it.
#include <cstdint>
#include <map>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/ring/frame_sink.h"
#include "backend/segment/memory/buffer_pool.h"

namespace millrace::loader {

class FrameSlots {
 public:
    explicit FrameSlots(segment::BufferPool& pool) : pool_(pool) {}

    /// Tickets number the slots from 0. kResourceExhausted if the pool is empty.
    Result<ring::FrameSlot> take(std::uint64_t bytes);
    void giveBack(std::uint64_t ticket);

 private:
    segment::BufferPool& pool_;
    Mutex mutex_;
    std::vector<segment::PooledBuffer> free_ MR_GUARDED_BY(mutex_);
    std::map<std::uint64_t, segment::PooledBuffer> taken_ MR_GUARDED_BY(mutex_);
    std::uint64_t nextTicket_ MR_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::loader
