#pragma once
// Coded frames in shared memory that the feed on the same machine maps. Frames are written once,
// here, and read there; only their positions are sent.
//
// The arena consists of slabs, and frames are cut from one slab after the other. A slab whose
// frames were all released is reused with the next generation. A reader checks the generation after
// it has read a frame: if it changed, the frame was released meanwhile and the bytes read are
// invalid. Slabs count as held by the pool; unused slabs are returned when its limit is reached.
// Threads: FrameArena: any. FrameSlab: generation() from any. The arena outlives its frames.
// Failure: the pool's limit; errors of the Show callback.
#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/segment/memory/buffer_pool.h"
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
    /// Generation of everything that this thread read in the slab before this call.
    std::uint64_t generation() const;
    /// Starts a generation: later writes belong to it. Called only by the process that made the
    /// slab.
    void begin(std::uint64_t generation) const;

 private:
    std::atomic_ref<std::uint64_t> head() const {
        return std::atomic_ref(*reinterpret_cast<std::uint64_t*>(memory_.bytes().data()));
    }
    const SharedMemory memory_;
    const std::uint32_t id_;
};

/// Position of a frame, for a process that maps the slab too.
struct SlabPlace {
    std::shared_ptr<const FrameSlab> slab;
    std::uint64_t generation = 0, offset = 0;

    /// Whether the bytes read there are still those written for this reader.
    bool isStill() const { return slab->generation() == generation; }
};

class FrameArena {
 public:
    /// Announces a slab to the reader of its frames, before the first frame is cut from it.
    using Show = std::function<Status(const FrameSlab&)>;
    /// `slabBytes`: size of one slab; a larger frame has a slab of its own. `pool` outlives the
    /// arena.
    FrameArena(BufferPool& pool, std::int64_t slabBytes, Show show)
        : pool_(pool), slabBytes_(static_cast<std::uint64_t>(slabBytes)), show_(std::move(show)) {}
    ~FrameArena();

    struct Room {
        std::shared_ptr<const void> owner;  ///< destroying it releases the room
        std::span<std::byte> bytes;         ///< aligned to 64 bytes
        SlabPlace place;
    };
    Result<Room> cut(std::int64_t bytes);
    /// Releases the memory of slabs without frames until they are used again.
    void giveUnusedBack();

 private:
    struct Slab {
        std::shared_ptr<const FrameSlab> shared;
        std::uint64_t generation = 0, used = 0;
        std::int64_t numFrames = 0;  ///< cut and not released
        bool isHeld = true;          ///< its memory counts as held by the pool
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
    Slab* current_ MR_GUARDED_BY(mutex_) = nullptr;  ///< frames are cut from this one
};

}  // namespace millrace::segment
