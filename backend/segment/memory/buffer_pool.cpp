#include "backend/segment/memory/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <new>
#include <numeric>

#include <sys/mman.h>

#include <arrow/status.h>

#include "backend/text/text.h"

namespace millrace::segment {

namespace {

constexpr std::int64_t kSmallPage = 4096, kHugePage = std::int64_t{2} << 20;
constexpr int kSmallestTop = 9;  // log2 of kSmallest
static_assert(BufferPool::kSmallest == 1 << kSmallestTop);

// Four classes per power of two: a block is at most a quarter larger than the request.
int classOf(std::int64_t bytes) {
    const auto value = static_cast<std::uint64_t>(bytes - 1);
    const int top = 63 - std::countl_zero(value);
    const int quarter = static_cast<int>((value >> (top - 2)) & 3);
    return (top - kSmallestTop) * 4 + quarter;
}

std::int64_t classBytes(int sizeClass) {
    const int top = sizeClass / 4 + kSmallestTop;
    return (std::int64_t{1} << top) + (std::int64_t{sizeClass % 4 + 1} << (top - 2));
}

/// The calling thread's shelf. Threads get shelves round-robin at their first allocation.
unsigned shelfOfThread(std::size_t shelves) {
    static std::atomic<unsigned> next{0};
    thread_local const unsigned own = next.fetch_add(1, std::memory_order_relaxed);
    return own % static_cast<unsigned>(shelves);
}

}  // namespace

BufferPool::BufferPool(std::int64_t limitBytes) : limitBytes_(limitBytes) {}

void BufferPool::ReleaseUnused() {
    for (BlockShelf& shelf : shelves_) {
        for (Block* const block : shelf.takeAllKept()) {
            const std::int64_t bytes = block->bytes;
            if (!block->isOfSlab()) {
                std::free(block);
                held_ -= bytes;
                continue;
            }
            const std::span<std::uint8_t> pages = block->pages();
            ::madvise(pages.data(), pages.size(), MADV_DONTNEED);
            held_ -= std::ssize(pages);
            shelf.keepEmpty(block);
        }
    }
}

bool BufferPool::holdMore(std::int64_t bytes) {
    const std::int64_t held = held_ += bytes;
    if (limitBytes_ > 0 && held > limitBytes_) {
        held_ -= bytes;
        return false;
    }
    std::int64_t peak = peak_.load();
    while (held > peak && !peak_.compare_exchange_weak(peak, held)) {
    }
    return true;
}

bool BufferPool::hold(std::int64_t bytes) {
    if (holdMore(bytes)) {
        return true;
    }
    ReleaseUnused();
    if (holdMore(bytes)) {
        return true;
    }
    missing_ = held_.load() + bytes - limitBytes_;
    return false;
}

void BufferPool::countAllocation(std::int64_t bytes, unsigned shelf) {
    Counts& own = counts_[shelf];
    own.inUse.fetch_add(bytes, std::memory_order_relaxed);
    own.total.fetch_add(bytes, std::memory_order_relaxed);
    own.allocations.fetch_add(1, std::memory_order_relaxed);
}

void BufferPool::countFree(std::int64_t bytes) {
    counts_[shelfOfThread(numShelves_)].inUse.fetch_sub(bytes, std::memory_order_relaxed);
}

std::int64_t BufferPool::sum(Count Counts::* count) const {
    return std::accumulate(counts_.begin(), counts_.end(), std::int64_t{0},
                           [count](std::int64_t all, const Counts& one) {
                               return all + (one.*count).load(std::memory_order_relaxed);
                           });
}

/// Takes from the thread's own shelf first, then from other shelves. Only then is a block made.
Block* BufferPool::takeFree(Block* (BlockShelf::*take)(int), int sizeClass, unsigned shelf) {
    for (std::size_t i = 0; i < numShelves_; ++i) {
        if (Block* const block = (shelves_[(shelf + i) % numShelves_].*take)(sizeClass)) {
            return block;
        }
    }
    return nullptr;
}

/// Returns nullptr if the system has no memory left.
void* BufferPool::memoryFor(std::int64_t bytes, unsigned shelf) {
    if (Block::isOfSlab(bytes)) {
        return shelves_[shelf].cut(bytes);
    }
    const std::int64_t alignment = bytes >= kOwnPages    ? kHugePage
                                   : bytes >= kSmallPage ? kSmallPage
                                                         : std::int64_t{alignof(Block)};
    void* const memory = std::aligned_alloc(
        static_cast<std::size_t>(alignment),
        static_cast<std::size_t>((bytes + alignment - 1) / alignment * alignment));
    if (memory != nullptr && alignment == kHugePage) {
        ::madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
    }
    return memory;
}

arrow::Result<Block*> BufferPool::makeBlock(int sizeClass, unsigned shelf) {
    const std::int64_t bytes = classBytes(sizeClass);
    if (!hold(bytes)) {
        return arrow::Status::OutOfMemory(
            "the memory limit of ", formatBytes(static_cast<double>(limitBytes_)),
            " is reached: ", formatBytes(static_cast<double>(held_.load())), " are in use and ",
            formatBytes(static_cast<double>(bytes)), " more are needed");
    }
    if (Block* const block = takeFree(&BlockShelf::takeEmpty, sizeClass, shelf)) {
        held_ -= bytes - std::ssize(block->pages());
        return block;
    }
    void* const memory = memoryFor(bytes, shelf);
    if (memory == nullptr) {
        held_ -= bytes;
        return arrow::Status::OutOfMemory("the system has no ", bytes, " bytes left");
    }
    return new (memory) Block{sizeClass, shelf, bytes};
}

arrow::Status BufferPool::allocateBlock(std::int64_t size, std::uint8_t** out) {
    const int sizeClass = classOf(size + static_cast<std::int64_t>(sizeof(Block)));
    if (sizeClass >= BlockShelf::kClasses) {
        return arrow::Status::OutOfMemory("a buffer of ", size, " bytes");
    }
    const unsigned shelf = shelfOfThread(numShelves_);
    Block* block = takeFree(&BlockShelf::takeKept, sizeClass, shelf);
    if (block == nullptr) {
        ARROW_ASSIGN_OR_RAISE(block, makeBlock(sizeClass, shelf));
    }
    countAllocation(block->bytes, shelf);
    *out = block->memory();
    return arrow::Status::OK();
}

void BufferPool::freeBlock(std::uint8_t* buffer) {
    Block* const block = Block::of(buffer);
    countFree(block->bytes);
    shelves_[block->shelf].keep(block);
}

arrow::Status BufferPool::Allocate(std::int64_t size, std::int64_t alignment, std::uint8_t** out) {
    if (size >= kSmallest && alignment <= 64) {
        return allocateBlock(size, out);
    }
    if (!hold(size)) {
        return arrow::Status::OutOfMemory("the memory limit of ", limitBytes_, " bytes is reached");
    }
    const arrow::Status status = arrow::system_memory_pool()->Allocate(size, alignment, out);
    if (!status.ok()) {
        held_ -= size;
        return status;
    }
    countAllocation(size, shelfOfThread(numShelves_));
    return status;
}

arrow::Status BufferPool::Reallocate(std::int64_t oldSize, std::int64_t newSize,
                                     std::int64_t alignment, std::uint8_t** pointer) {
    const bool wasBlock = oldSize >= kSmallest && alignment <= 64;
    if (wasBlock && newSize >= kSmallest) {
        const std::int64_t room =
            Block::of(*pointer)->bytes - static_cast<std::int64_t>(sizeof(Block));
        if (newSize <= room && newSize >= room / 4) {
            return arrow::Status::OK();
        }
    }
    std::uint8_t* fresh = nullptr;
    ARROW_RETURN_NOT_OK(Allocate(newSize, alignment, &fresh));
    std::memcpy(fresh, *pointer, static_cast<std::size_t>(std::min(oldSize, newSize)));
    Free(*pointer, oldSize, alignment);
    *pointer = fresh;
    return arrow::Status::OK();
}

void BufferPool::Free(std::uint8_t* buffer, std::int64_t size, std::int64_t alignment) {
    if (size >= kSmallest && alignment <= 64) {
        freeBlock(buffer);
        return;
    }
    arrow::system_memory_pool()->Free(buffer, size, alignment);
    countFree(size);
    held_ -= size;
}

PooledBuffer::~PooledBuffer() {
    if (pool_ != nullptr) {
        pool_->Free(data_, size_, 64);
    }
}

void PooledBuffer::swap(PooledBuffer& other) noexcept {
    std::swap(pool_, other.pool_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
}

Result<PooledBuffer> PooledBuffer::allocate(BufferPool& pool, std::int64_t bytes) {
    PooledBuffer buffer;
    const arrow::Status status = pool.Allocate(bytes, 64, &buffer.data_);
    if (!status.ok()) {
        return resourceExhausted(status.message());
    }
    buffer.pool_ = &pool;
    buffer.size_ = bytes;
    return buffer;
}

}  // namespace millrace::segment
