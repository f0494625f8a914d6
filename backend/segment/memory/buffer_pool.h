#pragma once
// The memory of a loader: Arrow's buffers and the frames, recycled, under one hard limit.
//
// Freed blocks of kSmallest bytes and more go to free lists by size: fresh memory from the kernel
// costs several times as much as the decoding that fills it. Smaller blocks go to Arrow's own pool.
// The bytes held (in use and kept) never exceed the limit. At the limit the pool first returns kept
// blocks to the system; if that is not enough, the request fails with Arrow's OutOfMemory.
//
// Memory comes in huge pages where possible. Blocks of 4 MiB and more have huge pages of their own;
// those from 16 KiB on are cut from slabs, one after the other (block_shelf.h). A slab takes memory
// as it is cut and is freed with the pool. The pages of a block in a slab can be returned to the
// system while the block itself is kept.
//
// Threads: any. Ownership: the pool outlives every buffer taken from it.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include "backend/core/status.h"
#include "backend/segment/memory/block_shelf.h"

namespace millrace::segment {

class BufferPool final : public arrow::MemoryPool {
 public:
    static constexpr std::int64_t kSmallest = 512;

    /// `limitBytes` 0: no limit.
    explicit BufferPool(std::int64_t limitBytes);

    using arrow::MemoryPool::Allocate;
    using arrow::MemoryPool::Free;
    using arrow::MemoryPool::Reallocate;
    arrow::Status Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) override;
    arrow::Status Reallocate(std::int64_t oldSize, std::int64_t newSize, std::int64_t alignment,
                             std::uint8_t** pointer) override;
    void Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) override;
    void ReleaseUnused() override;
    std::int64_t bytes_allocated() const override { return sum(&Counts::inUse); }
    /// Peak of the bytes held from the system.
    std::int64_t max_memory() const override { return peak_.load(); }
    std::int64_t total_bytes_allocated() const override { return sum(&Counts::total); }
    std::int64_t num_allocations() const override { return sum(&Counts::allocations); }
    std::string backend_name() const override { return "millrace"; }

    /// Counts memory that the pool did not allocate as held by it. Returns false if the limit does
    /// not allow it.
    bool hold(std::int64_t bytes);
    void letGo(std::int64_t bytes) { held_ -= bytes; }

    /// Makes all threads share one shelf, for large blocks that change threads, and to measure what
    /// the other shelves gain. Call before the first allocation.
    void useOneShelf() { numShelves_ = 1; }

    /// Bytes by which the last failed request exceeded the limit; 0: no request failed since the
    /// last call.
    std::int64_t takeMissing() { return missing_.exchange(0); }

    std::int64_t limitBytes() const { return limitBytes_; }
    /// Bytes held from the system: in use and kept for the next use.
    std::int64_t heldBytes() const { return held_.load(); }

 private:
    static constexpr std::size_t kShelves = 16;
    using Count = std::atomic<std::int64_t>;
    /// Allocations and frees of some of the threads. Threads that shared one counter would contend
    /// for its cache line at each buffer. `inUse` may be negative; the sum over all counters is
    /// not.
    struct alignas(64) Counts {
        Count inUse{0}, total{0}, allocations{0};
    };

    arrow::Status allocateBlock(std::int64_t size, std::uint8_t** out);
    arrow::Result<Block*> makeBlock(int sizeClass, unsigned shelf);
    void freeBlock(std::uint8_t* buffer);
    Block* takeFree(Block* (BlockShelf::*take)(int), int sizeClass, unsigned shelf);
    void* memoryFor(std::int64_t bytes, unsigned shelf);
    bool holdMore(std::int64_t bytes);
    void countAllocation(std::int64_t bytes, unsigned shelf);
    void countFree(std::int64_t bytes);
    std::int64_t sum(Count Counts::* count) const;

    std::size_t numShelves_ = kShelves;
    const std::int64_t limitBytes_;  ///< read for each buffer, so kept apart from what is written
    alignas(64) Count held_{0};
    Count peak_{0};  ///< highest value of `held_`
    Count missing_{0};
    // Each entry serves some of the threads (shelfOfThread()).
    std::array<Counts, kShelves> counts_;
    std::array<BlockShelf, kShelves> shelves_;
};

/// An owned range of 64-byte aligned bytes from a pool; the destructor frees it.
class PooledBuffer {
 public:
    PooledBuffer() = default;
    PooledBuffer(PooledBuffer&& other) noexcept { swap(other); }
    PooledBuffer& operator=(PooledBuffer&& other) noexcept {
        PooledBuffer moved(std::move(other));
        swap(moved);
        return *this;
    }
    ~PooledBuffer();
    /// kResourceExhausted when the pool's limit does not allow it.
    static Result<PooledBuffer> allocate(BufferPool& pool, std::int64_t bytes);

    std::uint8_t* data() const { return data_; }
    std::int64_t size() const { return size_; }
    std::span<std::byte> bytes() const {
        return {reinterpret_cast<std::byte*>(data_), static_cast<std::size_t>(size_)};
    }

 private:
    void swap(PooledBuffer& other) noexcept;
    BufferPool* pool_ = nullptr;
    std::uint8_t* data_ = nullptr;
    std::int64_t size_ = 0;
};

}  // namespace millrace::segment
