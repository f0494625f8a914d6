// The loader's memory: reuse of blocks, their addresses, and the limit.
#include "backend/segment/memory/buffer_pool.h"

#include <algorithm>
#include <cstdlib>
#include <semaphore>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace millrace::segment {
namespace {

// Takes `count` blocks of one size; they are given back when the list is destroyed.
[[maybe_unused]] std::vector<PooledBuffer> take(BufferPool& pool, std::size_t count,
                                                std::int64_t bytes) {
    std::vector<PooledBuffer> blocks;
    for (std::size_t i = 0; i < count; ++i) {
        blocks.push_back(*PooledBuffer::allocate(pool, bytes));
    }
    return blocks;
}

[[maybe_unused]] std::vector<const std::uint8_t*> places(const std::vector<PooledBuffer>& blocks) {
    std::vector<const std::uint8_t*> places;
    for (const PooledBuffer& block : blocks) {
        places.push_back(block.data());
    }
    return places;
}

TEST(BufferPoolTest, BlocksOfManySizesLieBesideEachOther) {
    BufferPool pool(0);
    std::vector<PooledBuffer> blocks;
    for (int i = 0; i < 120; ++i) {
        blocks.push_back(*PooledBuffer::allocate(pool, 1'000 + i * i * 300));
        std::fill_n(blocks.back().data(), blocks.back().size(), static_cast<std::uint8_t>(i));
    }
    for (std::size_t i = 0; i < blocks.size(); ++i) {
        const std::uint8_t* bytes = blocks[i].data();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(bytes) % 64, 0U);
        EXPECT_EQ(std::count(bytes, bytes + blocks[i].size(), static_cast<std::uint8_t>(i)),
                  blocks[i].size());
    }
}

// With AddressSanitizer every block is the system's own.
#if !defined(__SANITIZE_ADDRESS__)
TEST(BufferPoolTest, WhatABlockHeldIsTheSystemsAgain) {
    constexpr std::int64_t kPage = 4096;
    BufferPool pool(0);
    auto block = PooledBuffer::allocate(pool, 300'000);
    ASSERT_TRUE(block.ok());
    const std::uint8_t* memory = block->data();
    std::fill_n(block->data(), block->size(), std::uint8_t{1});
    *block = PooledBuffer();
    pool.ReleaseUnused();
    EXPECT_EQ(pool.heldBytes(), kPage);
    pool.ReleaseUnused();
    EXPECT_EQ(pool.heldBytes(), kPage);

    block = PooledBuffer::allocate(pool, 300'000);
    ASSERT_TRUE(block.ok());
    EXPECT_EQ(block->data(), memory);
    EXPECT_EQ(std::count(memory + kPage, memory + block->size(), 0), block->size() - kPage)
        << "fresh pages are zero";
    EXPECT_GE(pool.heldBytes(), 300'000);
}
#endif

TEST(BufferPoolTest, GivesTheSameBlockAgainAndKeepsTheLimit) {
    BufferPool pool(1'000'000);
    auto first = PooledBuffer::allocate(pool, 300'000);
    ASSERT_TRUE(first.ok());
    const std::uint8_t* place = first->data();
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 64, 0U);
    *first = PooledBuffer();
    auto second = PooledBuffer::allocate(pool, 310'000);
    ASSERT_TRUE(second.ok());
    EXPECT_EQ(second->data(), place);
    EXPECT_EQ(PooledBuffer::allocate(pool, 900'000).status().code(),
              absl::StatusCode::kResourceExhausted);
    *second = PooledBuffer();
    EXPECT_TRUE(PooledBuffer::allocate(pool, 700'000).ok()) << "kept blocks make room";
    EXPECT_LE(pool.heldBytes(), 1'000'000);
}

// The columns of a wide table's row group are small, and there are many of them.
TEST(BufferPoolTest, KeepsSmallBlocksToo) {
    BufferPool pool(0);
    for (const std::int64_t bytes : {std::int64_t{BufferPool::kSmallest}, std::int64_t{28'672}}) {
        auto first = PooledBuffer::allocate(pool, bytes);
        ASSERT_TRUE(first.ok());
        const std::uint8_t* place = first->data();
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(place) % 64, 0U);
        *first = PooledBuffer();
        EXPECT_GE(pool.heldBytes(), bytes);
        const auto second = PooledBuffer::allocate(pool, bytes);
        ASSERT_TRUE(second.ok());
        EXPECT_EQ(second->data(), place);
    }
    EXPECT_EQ(pool.bytes_allocated(), 0);
}

// Each thread has its own counts.
TEST(BufferPoolTest, WhatAnotherThreadGivesBackIsNoLongerInUse) {
    BufferPool pool(0);
    std::vector<PooledBuffer> buffers;
    for (const std::int64_t bytes : {100, 5'000, 100'000}) {
        buffers.push_back(*PooledBuffer::allocate(pool, bytes));
    }
    EXPECT_GE(pool.bytes_allocated(), 105'100);
    std::jthread([&buffers] { buffers.clear(); }).join();
    EXPECT_EQ(pool.bytes_allocated(), 0);
    EXPECT_EQ(pool.num_allocations(), 3);
    EXPECT_GE(pool.total_bytes_allocated(), 105'100);
    EXPECT_GE(pool.max_memory(), 105'100);
    EXPECT_GE(pool.max_memory(), pool.heldBytes());
}

TEST(BufferPoolTest, ReallocatesWithoutLosingBytes) {
    BufferPool pool(0);
    std::uint8_t* memory = nullptr;
    ASSERT_TRUE(pool.Allocate(1000, 64, &memory).ok());
    for (int i = 0; i < 1000; ++i) {
        memory[i] = static_cast<std::uint8_t>(i);
    }
    std::int64_t size = 1000;
    for (const std::int64_t next : {50'000, 70'000, 4'000'000, 40'000, 2'000}) {
        ASSERT_TRUE(pool.Reallocate(size, next, 64, &memory).ok());
        size = next;
        for (int i = 0; i < 1000; ++i) {
            ASSERT_EQ(memory[i], static_cast<std::uint8_t>(i));
        }
    }
    pool.Free(memory, size, 64);
    EXPECT_EQ(pool.bytes_allocated(), 0);
}

// With AddressSanitizer every block is the system's own.
#if !defined(__SANITIZE_ADDRESS__)
// Rows are gathered from many columns at once: values at the same offset in each page would compete
// for few sets of the caches.
TEST(BufferPoolTest, BlocksStandAtDifferentPlacesOfTheirPages) {
    BufferPool pool(0);
    const std::vector<PooledBuffer> blocks = take(pool, 64, 20'000);
    std::vector<std::uintptr_t> lines;
    for (const PooledBuffer& block : blocks) {
        lines.push_back(reinterpret_cast<std::uintptr_t>(block.data()) % 4096 / 64);
    }
    std::sort(lines.begin(), lines.end());
    EXPECT_EQ(std::unique(lines.begin(), lines.end()) - lines.begin(), 64);
}

// Even if two threads take turns, and another thread gives the blocks back.
TEST(BufferPoolTest, BlocksOfAThreadLieSideBySide) {
    constexpr std::size_t kBlocks = 100;
    BufferPool pool(0);
    std::binary_semaphore goes(0), went(0);
    std::vector<PooledBuffer> there;
    std::thread other([&] {
        for (std::size_t i = 0; i < 3 * kBlocks; ++i) {
            goes.acquire();
            there.push_back(*PooledBuffer::allocate(pool, 20'000));
            went.release();
        }
    });
    for (int round = 0; round < 3; ++round) {
        std::vector<PooledBuffer> here;
        for (std::size_t i = 0; i < kBlocks; ++i) {
            here.push_back(*PooledBuffer::allocate(pool, 20'000));
            goes.release();
            went.acquire();
        }
        for (std::size_t i = 1; i < kBlocks; ++i) {
            EXPECT_LT(std::abs(here[i].data() - here[i - 1].data()), 2 * 20'000)
                << round << ' ' << i;
        }
        there.clear();
        std::thread([&] { here.clear(); }).join();
    }
    other.join();
}

TEST(BufferPoolTest, WhatAnotherThreadLeftIsTakenBeforeMoreIsHeld) {
    BufferPool pool(0);
    std::vector<const std::uint8_t*> left;
    std::thread([&] { left = places(take(pool, 10, 100'000)); }).join();
    const std::int64_t held = pool.heldBytes();
    std::vector<const std::uint8_t*> taken = places(take(pool, 10, 100'000));
    EXPECT_EQ(pool.heldBytes(), held);
    std::sort(left.begin(), left.end());
    std::sort(taken.begin(), taken.end());
    EXPECT_EQ(taken, left);
}

TEST(BufferPoolTest, ThreadsOfOneShelfTakeTheSameBlocks) {
    BufferPool pool(0);
    pool.useOneShelf();
    std::vector<const std::uint8_t*> first, second;
    std::thread([&] { first = places(take(pool, 10, 100'000)); }).join();
    std::thread([&] { second = places(take(pool, 10, 100'000)); }).join();
    EXPECT_EQ(pool.bytes_allocated(), 0);
    std::sort(first.begin(), first.end());
    std::sort(second.begin(), second.end());
    EXPECT_EQ(second, first);
}

TEST(BufferPoolTest, AllBlocksOfASlabAreGivenBackButForAPageEach) {
    constexpr std::int64_t kPage = 4096;
    BufferPool pool(0);
    take(pool, 50, 30'000);
    pool.ReleaseUnused();
    EXPECT_EQ(pool.heldBytes(), 50 * kPage);
    const std::vector<PooledBuffer> again = take(pool, 50, 30'000);
    EXPECT_GE(pool.heldBytes(), 50 * 30'000);
    for (const PooledBuffer& block : again) {
        std::fill_n(block.data(), block.size(), std::uint8_t{1});
    }
}
#endif

}  // namespace
}  // namespace millrace::segment
