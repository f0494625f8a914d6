#pragma once
// Coded frames in memory that the feed of the same machine maps: they are written once, here, and
// read there; nothing is sent but where they lie.
//
// The arena is made of slabs. Frames are cut from one after the other; a slab whose frames are all
// let go of is cut anew, as its next generation. Whoever reads a frame looks at the generation when
// it is done: another one says that the frame was let go of meanwhile and what was read is nothing.
// Slabs count as held by the pool; what is not in use is given back when its limit is reached.
// Threads: FrameArena: any. FrameSlab: the generation from any. The arena outlives its frames.
// Failure: the pool's limit; what the teller of slabs says.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/segment/buffer_pool.h"
#include "backend/system/shared_memory.h"

namespace millrace::segment {

class FrameSlab {
 public:
    /// Bytes before the first frame.
    static constexpr std::uint64_t kHeadBytes = 64;

    FrameSlab(SharedMemory memory, std::uint32_t id) : memory_(std::move(memory)), id_(id) {}

    std::uint32_t id() const { return id_; }
    const SharedMemory& memory() const { return memory_; }
    std::uint64_t size() const { return memory_.bytes().size(); }
    /// Of what was read in it before this call, by this thread.
    std::uint64_t generation() const;
    /// What is written from now on is of this one. Of who made it.
    void begin(std::uint64_t generation) const;

 private:
    std::atomic_ref<std::uint64_t> head() const {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory_.bytes().data()));
    }
    const SharedMemory memory_;
    const std::uint32_t id_;
};

/// Where a frame lies, for who maps the slab too.
struct SlabPlace {
    std::shared_ptr<const FrameSlab> slab;
    std::uint64_t generation = 0, offset = 0;

    /// Whether what was read there is what was written for its reader.
    bool isStill() const { return slab->generation() == generation; }
};

class FrameArena {
 public:
    /// Shows a slab to who reads its frames, before the first of them is cut.
    using Show = std::function<Status(const FrameSlab&)>;
    /// `slabBytes`: of one slab; a larger frame has one of its own. `pool` outlives the arena.
    FrameArena(BufferPool& pool, std::int64_t slabBytes, Show show)
        : pool_(pool), slabBytes_(static_cast<std::uint64_t>(slabBytes)), show_(std::move(show)) {}
    ~FrameArena();

    struct Room {
        std::shared_ptr<const void> owner;  ///< the room is let go of with it
        std::span<std::byte> bytes;         ///< aligned to 64 bytes
        SlabPlace place;
    };
    Result<Room> cut(std::int64_t bytes);
    /// Slabs without frames take no memory any more, until they are used again.
    void giveUnusedBack();

 private:
    struct Slab {
        std::shared_ptr<const FrameSlab> shared;
        std::uint64_t generation = 0, used = 0;
        std::int64_t numFrames = 0;  ///< cut and not let go of
        bool isHeld = true;          ///< its memory counts at the pool
    };
    Slab* slabForLocked(std::uint64_t bytes) MR_REQUIRES(mutex_);
    Room cutLocked(Slab& slab, std::uint64_t bytes) MR_REQUIRES(mutex_);
    Status addSlab(std::uint64_t bytes);
    void letGo(Slab& slab);

    BufferPool& pool_;
    const std::uint64_t slabBytes_;
    const Show show_;
    std::atomic<std::uint32_t> nextId_{0};
    Mutex mutex_;
    std::deque<Slab> slabs_ MR_GUARDED_BY(mutex_);
    Slab* current_ MR_GUARDED_BY(mutex_) = nullptr;  ///< that is cut from
};

}  // namespace millrace::segment
