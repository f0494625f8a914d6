#include "backend/segment/sequence/frame_arena.h"

#include <algorithm>

namespace millrace::segment {
namespace {

constexpr std::uint64_t kAlignment = 64, kPage = 4096;

std::uint64_t roundUp(std::uint64_t bytes, std::uint64_t to) {
    return (bytes + to - 1) / to * to;
}

// ThreadSanitizer does not support fences, and it does not see the other process either.
void fence([[maybe_unused]] std::memory_order order) {
#ifndef __SANITIZE_THREAD__
    std::atomic_thread_fence(order);
#endif
}

}  // namespace

// The reader's half of a sequence lock: its reads come before.
std::uint64_t FrameSlab::generation() const {
    fence(std::memory_order_acquire);
    return head().load(std::memory_order_relaxed);
}

// The writer's half of the sequence lock: its writes come after.
void FrameSlab::begin(std::uint64_t generation) const {
    head().store(generation, std::memory_order_relaxed);
    fence(std::memory_order_release);
}

// A feed that is still reading keeps the memory through its own mapping.
FrameArena::~FrameArena() {
    MutexLock lock(mutex_);
    for (const Slab& slab : slabs_) {
        pool_.letGo(slab.isHeld ? static_cast<std::int64_t>(slab.shared->size()) : 0);
    }
}

Result<FrameArena::Room> FrameArena::cut(std::int64_t bytes) {
    const std::uint64_t room = roundUp(static_cast<std::uint64_t>(bytes), kAlignment);
    for (;;) {
        {
            MutexLock lock(mutex_);
            if (Slab* slab = slabForLocked(room)) {
                Room cut = cutLocked(*slab, room);
                cut.bytes = cut.bytes.first(static_cast<std::size_t>(bytes));
                return cut;
            }
        }
        RETURN_IF_ERROR(addSlab(room));
    }
}

// Returns the current slab if the frame fits, else the first slab without frames; prefers slabs
// whose memory is held.
FrameArena::Slab* FrameArena::slabForLocked(std::uint64_t bytes) {
    const auto fits = [bytes](const Slab& slab) {
        const std::uint64_t used = slab.numFrames > 0 ? slab.used : FrameSlab::kHeadBytes;
        return slab.shared->size() - used >= bytes;
    };
    if (current_ != nullptr && current_->isHeld && fits(*current_)) {
        return current_;
    }
    Slab* found = nullptr;
    for (Slab& slab : slabs_) {
        if (slab.numFrames == 0 && fits(slab) && (found == nullptr || slab.isHeld)) {
            found = &slab;
            if (slab.isHeld) {
                break;
            }
        }
    }
    if (found != nullptr && !found->isHeld) {
        found->isHeld = pool_.hold(static_cast<std::int64_t>(found->shared->size()));
        found = found->isHeld ? found : nullptr;
    }
    current_ = found != nullptr ? found : current_;
    return found;
}

FrameArena::Room FrameArena::cutLocked(Slab& slab, std::uint64_t bytes) {
    if (slab.numFrames == 0) {
        slab.used = FrameSlab::kHeadBytes;
        slab.shared->begin(++slab.generation);
    }
    Room room;
    room.place = {slab.shared, slab.generation, slab.used};
    room.bytes = slab.shared->memory().bytes().subspan(slab.used, bytes);
    room.owner =
        std::shared_ptr<const void>(slab.shared.get(), [this, &slab](const void*) { letGo(slab); });
    slab.used += bytes;
    ++slab.numFrames;
    return room;
}

Status FrameArena::addSlab(std::uint64_t bytes) {
    const std::uint64_t size = roundUp(std::max(slabBytes_, bytes + FrameSlab::kHeadBytes), kPage);
    const auto held = static_cast<std::int64_t>(size);
    if (!pool_.hold(held)) {
        giveUnusedBack();
        if (!pool_.hold(held)) {
            return resourceExhausted("frames: the memory limit leaves no ", size,
                                     " bytes for another slab of frames");
        }
    }
    Result<SharedMemory> memory = SharedMemory::make("millrace-frames", size);
    if (!memory.ok()) {
        pool_.letGo(held);
        return memory.status();
    }
    const auto slab = std::make_shared<const FrameSlab>(std::move(*memory), nextId_++);
    const Status shown = show_(*slab);
    if (!shown.ok()) {
        pool_.letGo(held);
        return shown;
    }
    MutexLock lock(mutex_);
    slabs_.push_back({slab});
    return okStatus();
}

void FrameArena::letGo(Slab& slab) {
    MutexLock lock(mutex_);
    --slab.numFrames;
}

void FrameArena::giveUnusedBack() {
    MutexLock lock(mutex_);
    for (Slab& slab : slabs_) {
        if (slab.numFrames == 0 && slab.isHeld) {
            slab.shared->memory().giveBack();
            slab.isHeld = false;
            pool_.letGo(static_cast<std::int64_t>(slab.shared->size()));
        }
    }
}

}  // namespace millrace::segment
