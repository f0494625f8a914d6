#include "daemon/worker/wire/frame_memory.h"

#include <utility>

namespace millrace::wire {
namespace {

constexpr std::uint64_t kFrameBytesMost = std::uint64_t{1} << 40;

struct Room {
    std::shared_ptr<const void> pool;  ///< outlives `buffer`
    segment::PooledBuffer buffer;
};

}  // namespace

Result<std::shared_ptr<std::byte>> FrameMemory::take(std::uint64_t bytes) {
    if (bytes > kFrameBytesMost) {
        return resourceExhausted("a frame of ", bytes, " bytes: no memory for it");
    }
    if (pool_.heldBytes() - pool_.bytes_allocated() > kKeptMost) {
        pool_.ReleaseUnused();
    }
    ASSIGN_OR_RETURN(auto buffer,
                     segment::PooledBuffer::allocate(pool_, static_cast<std::int64_t>(bytes)));
    auto room = std::make_shared<Room>(shared_from_this(), std::move(buffer));
    std::byte* const memory = room->buffer.bytes().data();
    return std::shared_ptr<std::byte>(std::move(room), memory);
}

}  // namespace millrace::wire
