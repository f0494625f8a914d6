#pragma once
// Blocks of a pool that are free, and the memory that new ones are cut from.
//
// Rows are gathered from hundreds of columns, a few values of each at a time, so it matters how
// their blocks lie: one after the other as far as they can, and no two of a thread at the same
// place of a page. Values at one place of every page share few sets of a core's caches, where they
// drive each other out before they are used: blocks that are cut from a slab have a line between
// them. What several threads took turns to take from one list lies scattered after a while, so a
// pool has several shelves.
//
// Threads: any. Ownership: a block lies on the shelf that it was made for, or is in use; slabs go
// with the shelf, and with them all their blocks.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/core/mutex.h"

namespace millrace::segment {

/// Blocks from here on have huge pages of their own; smaller ones may be cut from slabs.
inline constexpr std::int64_t kOwnPages = std::int64_t{4} << 20;

/// Stands in the 64 bytes before the memory handed out.
struct alignas(64) Block {
    int sizeClass = 0;
    unsigned shelf = 0;      ///< where it lies when it is free
    std::int64_t bytes = 0;  ///< of the whole block, with this header

    std::uint8_t* memory() { return reinterpret_cast<std::uint8_t*>(this) + sizeof(Block); }
    static Block* of(std::uint8_t* memory) {
        return reinterpret_cast<Block*>(memory - sizeof(Block));
    }
    /// The whole pages behind the header: they can be given back without the block.
    std::span<std::uint8_t> pages();
    /// Else it has memory of its own.
    bool isOfSlab() const { return isOfSlab(bytes); }
    static bool isOfSlab(std::int64_t bytes);
};

class alignas(64) BlockShelf {
 public:
    static constexpr int kClasses = 192;

    BlockShelf() = default;
    BlockShelf(const BlockShelf&) = delete;
    BlockShelf& operator=(const BlockShelf&) = delete;
    ~BlockShelf();

    /// The one that was put there last; null: there is none.
    Block* takeKept(int sizeClass);
    void keep(Block* block);
    std::vector<Block*> takeAllKept();

    /// Those whose pages were given back.
    Block* takeEmpty(int sizeClass);
    void keepEmpty(Block* block);

    /// Memory for a block of a slab; null: the system has none left.
    void* cut(std::int64_t bytes);

 private:
    using BlockLists = std::array<std::vector<Block*>, kClasses>;

    Block* takeLast(BlockLists BlockShelf::* lists, int sizeClass);

    Mutex mutex_;
    BlockLists kept_ MR_GUARDED_BY(mutex_);
    BlockLists empty_ MR_GUARDED_BY(mutex_);
    std::vector<void*> slabs_ MR_GUARDED_BY(mutex_);
    std::int64_t slabUsed_ MR_GUARDED_BY(mutex_) = 0;  ///< of the last slab
};

}  // namespace millrace::segment
