#pragma once
// Free blocks of a BufferPool, and the slabs of memory that new blocks are cut from.
//
// Rows are gathered from hundreds of columns, a few values of each at a time, so the addresses of
// the columns' blocks matter. Blocks of one thread should be adjacent where possible, and should
// not start at the same offset in a page: values at the same page offset share a few cache sets and
// evict each other before they are used. Blocks cut from a slab are therefore one cache line apart.
// A list that several threads take from becomes scattered over time, so a pool has several shelves.
//
// Threads: any. Ownership: a block is on the shelf that it was made for, or in use. A shelf frees
// its slabs when it is destroyed, and with them all their blocks.
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/core/mutex.h"

namespace millrace::segment {

/// Blocks of at least this many bytes have huge pages of their own; smaller ones may be cut from
/// slabs.
inline constexpr std::int64_t kOwnPages = std::int64_t{4} << 20;

/// Occupies the 64 bytes before the memory handed out.
struct alignas(64) Block {
    int sizeClass = 0;
    unsigned shelf = 0;      ///< shelf that keeps the block when it is free
    std::int64_t bytes = 0;  ///< of the whole block, including this header

    std::uint8_t* memory() { return reinterpret_cast<std::uint8_t*>(this) + sizeof(Block); }
    static Block* of(std::uint8_t* memory) {
        return reinterpret_cast<Block*>(memory - sizeof(Block));
    }
    /// The whole pages behind the header. They can be returned to the system while the block is
    /// kept.
    std::span<std::uint8_t> pages();
    /// Whether the block was cut from a slab. If not, it is an allocation of its own.
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

    /// Returns the block that was kept last, or null if there is none.
    Block* takeKept(int sizeClass);
    void keep(Block* block);
    std::vector<Block*> takeAllKept();

    /// Like takeKept() and keep(), for blocks whose pages were returned to the system.
    Block* takeEmpty(int sizeClass);
    void keepEmpty(Block* block);

    /// Memory for a block of a slab. Null: the system has no memory left.
    void* cut(std::int64_t bytes);

 private:
    using BlockLists = std::array<std::vector<Block*>, kClasses>;

    Block* takeLast(BlockLists BlockShelf::* lists, int sizeClass);

    Mutex mutex_;
    BlockLists kept_ MR_GUARDED_BY(mutex_);
    BlockLists empty_ MR_GUARDED_BY(mutex_);
    std::vector<void*> slabs_ MR_GUARDED_BY(mutex_);
    std::int64_t slabUsed_ MR_GUARDED_BY(mutex_) = 0;  ///< bytes used in the last slab
};

}  // namespace millrace::segment
