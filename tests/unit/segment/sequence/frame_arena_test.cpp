// Frames in memory that two processes share: allocated, released, allocated again, given back.
#include "backend/segment/sequence/frame_arena.h"

#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "backend/core/status.h"

namespace millrace::segment {
namespace {

constexpr std::int64_t kSlabBytes = 1 << 16;

class FrameArenaTest : public ::testing::Test {
 protected:
    FrameArenaTest()
        : pool_(4 * kSlabBytes), arena_(pool_, kSlabBytes, [this](const FrameSlab& slab) {
              shown_.push_back(slab.id());
              return okStatus();
          }) {}
    FrameArena::Room cut(std::int64_t bytes) {
        auto room = arena_.cut(bytes);
        EXPECT_TRUE(room.ok()) << room.status();
        return room.ok() ? std::move(*room) : FrameArena::Room();
    }
    BufferPool pool_;
    std::vector<std::uint32_t> shown_;
    FrameArena arena_;
};

TEST_F(FrameArenaTest, FramesOfASlabLieOneBehindTheOtherAndASlabIsShownOnce) {
    const FrameArena::Room a = cut(1000), b = cut(1000);
    EXPECT_EQ(shown_, std::vector<std::uint32_t>{a.place.slab->id()});
    EXPECT_EQ(a.place.slab, b.place.slab);
    EXPECT_EQ(a.place.offset, FrameSlab::kHeadBytes);
    EXPECT_EQ(b.place.offset, FrameSlab::kHeadBytes + 1024);
    EXPECT_EQ(a.bytes.size(), 1000U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(b.bytes.data()) % 64, 0U);
}

TEST_F(FrameArenaTest, AReaderSeesThatItsFrameWasLetGoOf) {
    FrameArena::Room room = cut(1000);
    const SlabPlace place = room.place;
    EXPECT_TRUE(place.isStill());
    room = {};
    EXPECT_TRUE(place.isStill()) << "nothing was written over it";
    const FrameArena::Room next = cut(1000);
    EXPECT_EQ(next.place.slab, place.slab);
    EXPECT_FALSE(place.isStill());
    EXPECT_TRUE(next.place.isStill());
}

TEST_F(FrameArenaTest, ASlabWithAFrameThatIsKeptIsNotCutAnew) {
    const FrameArena::Room kept = cut(kSlabBytes / 2);
    for (int i = 0; i < 20; ++i) {
        const FrameArena::Room other = cut(kSlabBytes / 2);
        EXPECT_NE(other.place.slab, kept.place.slab);
    }
    EXPECT_EQ(shown_.size(), 2U) << "one is kept, one is cut again and again";
    EXPECT_TRUE(kept.place.isStill());
}

TEST_F(FrameArenaTest, ALargeFrameHasASlabOfItsOwn) {
    const FrameArena::Room large = cut(2 * kSlabBytes);
    EXPECT_EQ(large.bytes.size(), static_cast<std::size_t>(2 * kSlabBytes));
    EXPECT_GE(large.place.slab->size(), large.bytes.size() + FrameSlab::kHeadBytes);
}

TEST_F(FrameArenaTest, SlabsCountAtThePoolAndTheLimitIsAnError) {
    std::vector<FrameArena::Room> rooms;
    for (int i = 0; i < 4; ++i) {
        rooms.push_back(cut(kSlabBytes / 2 + 1));
        EXPECT_EQ(pool_.heldBytes(), (i + 1) * kSlabBytes);
    }
    EXPECT_EQ(arena_.cut(kSlabBytes / 2 + 1).status().code(), absl::StatusCode::kResourceExhausted);
    rooms.pop_back();
    EXPECT_TRUE(arena_.cut(kSlabBytes / 2 + 1).ok());
}

TEST_F(FrameArenaTest, WhatIsNotInUseIsGivenBackAndItsReadersSeeIt) {
    FrameArena::Room room = cut(kSlabBytes / 2 + 1);
    const FrameArena::Room kept = cut(kSlabBytes / 2 + 1);
    const SlabPlace place = room.place;
    std::memset(room.bytes.data(), 7, room.bytes.size());
    room = {};
    arena_.giveUnusedBack();
    EXPECT_EQ(pool_.heldBytes(), kSlabBytes);
    EXPECT_FALSE(place.isStill());
    EXPECT_TRUE(kept.place.isStill());
    const FrameArena::Room again = cut(kSlabBytes / 2 + 1);
    EXPECT_EQ(again.place.slab, place.slab) << "its descriptor is known already";
    EXPECT_EQ(again.bytes[0], std::byte{0});
    EXPECT_EQ(pool_.heldBytes(), 2 * kSlabBytes);
}

TEST_F(FrameArenaTest, WhatCannotBeShownTakesNoMemory) {
    FrameArena blind(pool_, kSlabBytes, [](const FrameSlab&) { return unavailable("gone"); });
    EXPECT_EQ(blind.cut(10).status().code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(pool_.heldBytes(), 0);
}

}  // namespace
}  // namespace millrace::segment
