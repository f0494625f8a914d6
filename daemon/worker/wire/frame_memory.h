#pragma once
// FrameMemory: the memory in which received frames are assembled. A frame leaves its memory to a
// later one, because fresh pages cost more than the copy into them. Used by OwedFrames; all
// connections of a process share one.
//
// Threads: any. Bounds: it keeps at most kKeptMost unused bytes when it gives memory. Failure:
// kResourceExhausted if the system has no memory.
#include <cstddef>
#include <cstdint>
#include <memory>

#include "backend/core/status.h"
#include "backend/segment/memory/buffer_pool.h"

namespace millrace::wire {

class FrameMemory : public std::enable_shared_from_this<FrameMemory> {
 public:
    /// For the frames that are owed to two rings.
    static constexpr std::int64_t kKeptMost = std::int64_t{128} << 20;

    static std::shared_ptr<FrameMemory> make() {
        return std::shared_ptr<FrameMemory>(new FrameMemory());
    }
    /// Aligned to 64 bytes. The result keeps this object.
    Result<std::shared_ptr<std::byte>> take(std::uint64_t bytes);
    /// Bytes held from the system.
    std::int64_t heldBytes() const { return pool_.heldBytes(); }

 private:
    FrameMemory() { pool_.useOneShelf(); }
    segment::BufferPool pool_{0};
};

}  // namespace millrace::wire
