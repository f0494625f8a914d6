#pragma once
// The memory of a loader: Arrow's buffers and the frames, recycled, under one hard limit.
//
// Blocks of kSmallest bytes and more are kept in free lists by size when they are given back: fresh
// memory from the kernel costs several times as much as the decoding that fills it. Smaller ones go
// to Arrow's own pool. What is held (in use and kept) never passes the limit: kept blocks are given
// to the system first, then the request fails with Arrow's OutOfMemory.
//
// The system hands out memory in huge pages where it can: blocks of 4 MB and more have their own,
// those from 16 kB on are cut from slabs, one after the other (block_shelf.h). A slab takes memory
// as it is cut, and goes with the pool; what a block of it held is given back without the block.
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
#include "backend/segment/block_shelf.h"

namespace millrace::segment {

class BufferPool final : public arrow::MemoryPool {
 public:
    static constexpr std::int64_t kSmallest = 512;

    /// limitBytes 0: no limit.
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
    /// The most that was held from the system.
    std::int64_t max_memory() const override { return peak_.load(); }
    std::int64_t total_bytes_allocated() const override { return sum(&Counts::total); }
    std::int64_t num_allocations() const override { return sum(&Counts::allocations); }
    std::string backend_name() const override { return "millrace"; }

    /// Memory that is not the pool's counts as held by it. False: the limit does not allow it.
    bool hold(std::int64_t bytes);
    void letGo(std::int64_t bytes) { held_ -= bytes; }

    /// By how much the last request that failed went beyond the limit; 0: none did since.
    std::int64_t takeMissing() { return missing_.exchange(0); }

    std::int64_t limitBytes() const { return limitBytes_; }
    /// Bytes held from the system: in use and kept for the next use.
    std::int64_t heldBytes() const { return held_.load(); }

 private:
    static constexpr std::size_t kShelves = 16;
    using Count = std::atomic<std::int64_t>;
    /// What some threads took and gave back: a thread that counted where others do would wait for
    /// their caches at each buffer. `inUse` may be below zero; the sum of all is not.
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

    const std::int64_t limitBytes_;  ///< read with each buffer, so apart from what is written
    alignas(64) Count held_{0};
    Count peak_{0};  ///< of `held_`
    Count missing_{0};
    // Each is some threads' own.
    std::array<Counts, kShelves> counts_;
    std::array<BlockShelf, kShelves> shelves_;
};

/// Bytes with an owner: 64-byte aligned bytes from a pool, given back at death.
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
