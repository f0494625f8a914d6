#include "backend/segment/buffer_pool.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

#include <arrow/status.h>

#include "backend/core/text.h"

namespace millrace::segment {

namespace {

constexpr std::int64_t kPage = 4096, kHugePage = std::int64_t{2} << 20;
constexpr int kSmallestTop = 9;  // of kSmallest
static_assert(BufferPool::kSmallest == 1 << kSmallestTop);

constexpr std::int64_t kOwnPages =
    2 * kHugePage;  // blocks from here on have huge pages of their own
constexpr std::int64_t kSlab = std::int64_t{64} << 20;
#if defined(__SANITIZE_ADDRESS__)
constexpr std::int64_t kLeastOfSlab = kOwnPages;  // none, so that what passes a block's end is seen
#else
constexpr std::int64_t kLeastOfSlab = std::int64_t{16} << 10;
#endif

bool isOfSlab(std::int64_t bytes) {
    return bytes >= kLeastOfSlab && bytes < kOwnPages;
}

// Four classes a power of two: a block is at most a quarter larger than what was asked for.
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

}  // namespace

// Stands in the 64 bytes before the memory handed out.
struct alignas(64) BufferPool::Block {
    int sizeClass;
    std::int64_t bytes;  // of the whole block, with this header
    std::uint8_t* memory() { return reinterpret_cast<std::uint8_t*>(this) + sizeof(Block); }
    static Block* of(std::uint8_t* memory) {
        return reinterpret_cast<Block*>(memory - sizeof(Block));
    }
};

BufferPool::BufferPool(std::int64_t limitBytes) : limitBytes_(limitBytes) {}

// Blocks of slabs go with their slabs.
BufferPool::~BufferPool() {
    MutexLock lock(mutex_);
    for (auto& list : kept_) {
        for (Block* block : list) {
            if (!isOfSlab(block->bytes)) {
                std::free(block);
            }
        }
    }
    for (void* slab : slabs_) {
        ::munmap(slab, static_cast<std::size_t>(kSlab));
    }
}

void BufferPool::ReleaseUnused() {
    std::vector<Block*> blocks;
    {
        MutexLock lock(mutex_);
        for (auto& list : kept_) {
            blocks.insert(blocks.end(), list.begin(), list.end());
            list.clear();
        }
    }
    for (Block* block : blocks) {
        const std::int64_t bytes = block->bytes;
        if (!isOfSlab(bytes)) {
            std::free(block);
            held_ -= bytes;
            continue;
        }
        ::madvise(reinterpret_cast<std::uint8_t*>(block) + kPage,
                  static_cast<std::size_t>(bytes - kPage), MADV_DONTNEED);
        held_ -= bytes - kPage;
        MutexLock lock(mutex_);
        empty_[static_cast<std::size_t>(block->sizeClass)].push_back(block);
    }
}

bool BufferPool::holdMore(std::int64_t bytes) {
    const std::int64_t held = held_ += bytes;
    if (limitBytes_ > 0 && held > limitBytes_) {
        held_ -= bytes;
        return false;
    }
    return true;
}

bool BufferPool::hold(std::int64_t bytes) {
    if (holdMore(bytes)) {
        return true;
    }
    ReleaseUnused();
    return holdMore(bytes);
}

void BufferPool::countAllocation(std::int64_t bytes) {
    const std::int64_t now = inUse_ += bytes;
    std::int64_t peak = peak_.load();
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
    total_ += bytes;
    ++allocations_;
}

BufferPool::Block* BufferPool::takeLast(BlockLists BufferPool::* lists, int sizeClass) {
    MutexLock lock(mutex_);
    std::vector<Block*>& list = (this->*lists)[static_cast<std::size_t>(sizeClass)];
    if (list.empty()) {
        return nullptr;
    }
    Block* block = list.back();
    list.pop_back();
    return block;
}

/// From a slab; nullptr: the system has none left.
void* BufferPool::cut(std::int64_t bytes) {
    MutexLock lock(mutex_);
    if (slabs_.empty() || kSlab - slabUsed_ < bytes) {
        // The system places it at a huge page's border.
        void* slab = ::mmap(nullptr, static_cast<std::size_t>(kSlab), PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (slab == MAP_FAILED) {
            return nullptr;
        }
        ::madvise(slab, static_cast<std::size_t>(kSlab), MADV_HUGEPAGE);
        slabs_.push_back(slab);
        slabUsed_ = 0;
    }
    void* memory = static_cast<std::uint8_t*>(slabs_.back()) + slabUsed_;
    slabUsed_ += bytes;
    return memory;
}

arrow::Result<BufferPool::Block*> BufferPool::makeBlock(int sizeClass) {
    const std::int64_t bytes = classBytes(sizeClass);
    if (!hold(bytes)) {
        return arrow::Status::OutOfMemory(
            "the memory limit of ", formatBytes(static_cast<double>(limitBytes_)),
            " is reached: ", formatBytes(static_cast<double>(held_.load())), " are in use and ",
            formatBytes(static_cast<double>(bytes)), " more are needed");
    }
    void* memory = nullptr;
    if (isOfSlab(bytes)) {
        if (Block* block = takeLast(&BufferPool::empty_, sizeClass)) {
            held_ -= kPage;
            return block;
        }
        memory = cut(bytes);
    } else {
        const std::int64_t alignment = bytes >= kOwnPages ? kHugePage
                                       : bytes >= kPage   ? kPage
                                                          : std::int64_t{alignof(Block)};
        memory = std::aligned_alloc(
            static_cast<std::size_t>(alignment),
            static_cast<std::size_t>((bytes + alignment - 1) / alignment * alignment));
        if (memory != nullptr && alignment == kHugePage) {
            ::madvise(memory, static_cast<std::size_t>(bytes), MADV_HUGEPAGE);
        }
    }
    if (memory == nullptr) {
        held_ -= bytes;
        return arrow::Status::OutOfMemory("the system has no ", bytes, " bytes left");
    }
    auto* block = static_cast<Block*>(memory);
    block->sizeClass = sizeClass;
    block->bytes = bytes;
    return block;
}

arrow::Status BufferPool::allocateBlock(std::int64_t size, std::uint8_t** out) {
    const int sizeClass = classOf(size + static_cast<std::int64_t>(sizeof(Block)));
    if (sizeClass >= kClasses) {
        return arrow::Status::OutOfMemory("a buffer of ", size, " bytes");
    }
    Block* block = takeLast(&BufferPool::kept_, sizeClass);
    if (block == nullptr) {
        ARROW_ASSIGN_OR_RAISE(block, makeBlock(sizeClass));
    }
    countAllocation(block->bytes);
    *out = block->memory();
    return arrow::Status::OK();
}

void BufferPool::freeBlock(std::uint8_t* buffer) {
    Block* block = Block::of(buffer);
    inUse_ -= block->bytes;
    MutexLock lock(mutex_);
    kept_[static_cast<std::size_t>(block->sizeClass)].push_back(block);
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
    countAllocation(size);
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
    inUse_ -= size;
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
