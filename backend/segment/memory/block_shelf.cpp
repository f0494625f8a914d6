#include "backend/segment/memory/block_shelf.h"

#include <cstdlib>

#include <sys/mman.h>

namespace millrace::segment {

namespace {

constexpr std::uintptr_t kPageOfMemory = 4096;
constexpr std::int64_t kSlab = std::int64_t{64} << 20;
constexpr std::int64_t kBetween = 64;  // one cache line
#if defined(__SANITIZE_ADDRESS__)
constexpr std::int64_t kLeastOfSlab = kOwnPages;  // no slabs: ASan sees overruns
#else
constexpr std::int64_t kLeastOfSlab = std::int64_t{16} << 10;
#endif

}  // namespace

bool Block::isOfSlab(std::int64_t bytes) {
    return bytes >= kLeastOfSlab && bytes < kOwnPages;
}

std::span<std::uint8_t> Block::pages() {
    const auto begin = reinterpret_cast<std::uintptr_t>(memory());
    const std::uintptr_t first = (begin + kPageOfMemory - 1) / kPageOfMemory * kPageOfMemory;
    const std::uintptr_t end = (begin - sizeof(Block) + static_cast<std::uintptr_t>(bytes)) /
                               kPageOfMemory * kPageOfMemory;
    return {memory() + (first - begin), end > first ? end - first : 0};
}

BlockShelf::~BlockShelf() {
    MutexLock lock(mutex_);
    for (const std::vector<Block*>& list : kept_) {
        for (Block* const block : list) {
            if (!block->isOfSlab()) {
                std::free(block);
            }
        }
    }
    for (void* const slab : slabs_) {
        ::munmap(slab, static_cast<std::size_t>(kSlab));
    }
}

Block* BlockShelf::takeLast(BlockLists BlockShelf::* lists, int sizeClass) {
    MutexLock lock(mutex_);
    std::vector<Block*>& list = (this->*lists)[static_cast<std::size_t>(sizeClass)];
    if (list.empty()) {
        return nullptr;
    }
    Block* const block = list.back();
    list.pop_back();
    return block;
}

Block* BlockShelf::takeKept(int sizeClass) {
    return takeLast(&BlockShelf::kept_, sizeClass);
}

Block* BlockShelf::takeEmpty(int sizeClass) {
    return takeLast(&BlockShelf::empty_, sizeClass);
}

void BlockShelf::keep(Block* block) {
    MutexLock lock(mutex_);
    kept_[static_cast<std::size_t>(block->sizeClass)].push_back(block);
}

void BlockShelf::keepEmpty(Block* block) {
    MutexLock lock(mutex_);
    empty_[static_cast<std::size_t>(block->sizeClass)].push_back(block);
}

std::vector<Block*> BlockShelf::takeAllKept() {
    std::vector<Block*> blocks;
    MutexLock lock(mutex_);
    for (std::vector<Block*>& list : kept_) {
        blocks.insert(blocks.end(), list.begin(), list.end());
        list.clear();
    }
    return blocks;
}

void* BlockShelf::cut(std::int64_t bytes) {
    MutexLock lock(mutex_);
    if (slabs_.empty() || kSlab - slabUsed_ < bytes) {
        // The kernel aligns a mapping of this size to a huge page.
        void* const slab = ::mmap(nullptr, static_cast<std::size_t>(kSlab), PROT_READ | PROT_WRITE,
                                  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (slab == MAP_FAILED) {
            return nullptr;
        }
        ::madvise(slab, static_cast<std::size_t>(kSlab), MADV_HUGEPAGE);
        slabs_.push_back(slab);
        slabUsed_ = 0;
    }
    void* const memory = static_cast<std::uint8_t*>(slabs_.back()) + slabUsed_;
    slabUsed_ += bytes + kBetween;
    return memory;
}

}  // namespace millrace::segment
