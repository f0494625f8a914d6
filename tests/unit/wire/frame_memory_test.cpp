#include "daemon/worker/wire/frame_memory.h"

#include <vector>

#include <gtest/gtest.h>

#include "daemon/worker/wire/owed_frames.h"

namespace millrace::wire {
namespace {

constexpr std::uint64_t kBytes = 5'000'000;

TEST(FrameMemory, AFrameLeavesItsMemoryToTheNext) {
    const auto memory = FrameMemory::make();
    const std::byte* const first = (*memory->take(kBytes)).get();
    EXPECT_EQ((*memory->take(kBytes)).get(), first);
    const auto held = *memory->take(kBytes);
    EXPECT_NE((*memory->take(kBytes)).get(), held.get());
}

TEST(FrameMemory, KeepsLittleThatIsUnused) {
    const auto memory = FrameMemory::make();
    for (std::uint64_t bytes = kBytes; bytes < 100 * kBytes; bytes += bytes / 4) {
        EXPECT_TRUE(memory->take(bytes).ok());
    }
    EXPECT_TRUE(memory->take(kBytes).ok());
    EXPECT_LE(memory->heldBytes(), FrameMemory::kKeptMost);
}

TEST(FrameMemory, LivesUntilItsLastFrameIsGone) {
    auto memory = FrameMemory::make();
    const std::weak_ptr<FrameMemory> watched = memory;
    auto frame = *memory->take(kBytes);
    memory.reset();
    frame.get()[kBytes - 1] = std::byte{1};
    EXPECT_FALSE(watched.expired());
    frame.reset();
    EXPECT_TRUE(watched.expired());
}

TEST(FrameMemory, RefusesMoreThanThereIs) {
    EXPECT_EQ(FrameMemory::make()->take(std::uint64_t{1} << 62).status().code(),
              absl::StatusCode::kResourceExhausted);
}

// The frames of all connections take turns in the same memory.
TEST(OwedFrames, AssembleAFrameWhereAnEarlierOneWas) {
    const auto memory = FrameMemory::make();
    auto bytes = std::make_shared<std::vector<std::byte>>(kBytes);
    const segment::CodedFrame coded{bytes, *bytes, {}};
    stream::SegmentOrder order;
    order.name = {0, 1};
    std::vector<std::int64_t> held;
    for (std::int64_t frame = 0; frame < 2; ++frame) {
        OwedFrames owed(memory);
        owed.ask(order, frame, {kBytes, kBytes},
                 [&](std::int64_t, Result<segment::CodedFrame> whole) {
                     EXPECT_TRUE(whole.ok());
                     held.push_back(memory->heldBytes());
                     return okStatus();
                 });
        for (const std::uint64_t offset : {std::uint64_t{0}, kChunkBytesMost}) {
            const auto chunk = FrameChunk::read(makeChunk(order, frame, coded, offset));
            EXPECT_TRUE(owed.came(*chunk, nullptr).ok());
        }
    }
    ASSERT_EQ(held.size(), 2U);
    EXPECT_GE(held[0], static_cast<std::int64_t>(kBytes));
    EXPECT_EQ(held[0], held[1]);
}

}  // namespace
}  // namespace millrace::wire
