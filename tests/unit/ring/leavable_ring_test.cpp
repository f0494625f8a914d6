#include "backend/ring/leavable_ring.h"

#include <cstdint>

#include <gtest/gtest.h>

namespace millrace::ring {
namespace {

/// A ring whose answers the test sets.
class Answering final : public StepSink {
 public:
    Result<FrameSlot> reserve(std::uint64_t bytes, std::uint32_t /*epoch*/, std::int64_t /*number*/,
                              std::stop_token /*stop*/) override {
        memory_ = frame::FrameBuffer(bytes);
        return answer.ok() ? Result<FrameSlot>(FrameSlot{memory_.bytes(), 7}) : answer;
    }
    Result<FrameSlot> reserveStep(std::stop_token /*stop*/) override {
        return answer.ok() ? Result<FrameSlot>(FrameSlot{{}, 8}) : answer;
    }
    Status commit(const FrameSlot& slot, std::uint32_t /*epoch*/,
                  std::int64_t /*number*/) override {
        return counted(slot);
    }
    Status commitJoined(const FrameSlot& slot, const FrameNumbers& /*of*/,
                        std::uint64_t /*bytes*/) override {
        return counted(slot);
    }
    Status commitNothing(const FrameSlot& slot) override { return counted(slot); }
    Status park(const FrameSlot& slot) override { return counted(slot); }
    Status commitStep(const FrameSlot& slot, const stream::StepMark& /*mark*/) override {
        return counted(slot);
    }
    Status columns(std::span<const std::byte> /*frame*/, std::stop_token /*stop*/) override {
        return called();
    }
    Status segment(const stream::SegmentRecord& /*record*/, std::stop_token /*stop*/) override {
        return called();
    }
    Status endOfEpoch(std::uint32_t /*epoch*/, std::int64_t /*total*/,
                      std::stop_token /*stop*/) override {
        return called();
    }
    Status endOfStream(std::stop_token /*stop*/) override { return called(); }
    Status error(const Status& /*why*/, std::stop_token /*stop*/) override { return called(); }

    Status answer;
    int calls = 0;

 private:
    Status called() {
        ++calls;
        return answer;
    }
    Status counted(const FrameSlot& slot) {
        EXPECT_TRUE(slot.ticket == 7 || slot.ticket == 8) << "a slot that is not this ring's";
        return called();
    }
    frame::FrameBuffer memory_;
};

/// Calls every function of a rank's sink, as a feed does for a rank.
Status everything(StepSink& ring) {
    for (int i = 0; i < 2; ++i) {
        ASSIGN_OR_RETURN(const FrameSlot slot, ring.reserve(100, 0, i, {}));
        EXPECT_GE(slot.bytes.size(), 100U);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(slot.bytes.data()) % 64, 0U);
        RETURN_IF_ERROR(ring.park(slot));
        RETURN_IF_ERROR(i == 0 ? ring.commit(slot, 0, i) : ring.commitNothing(slot));
    }
    ASSIGN_OR_RETURN(const FrameSlot joined, ring.reserve(100, 0, 2, {}));
    RETURN_IF_ERROR(ring.commitJoined(joined, {}, 80));
    ASSIGN_OR_RETURN(const FrameSlot step, ring.reserveStep({}));
    RETURN_IF_ERROR(ring.commitStep(step, {}));
    RETURN_IF_ERROR(ring.columns({}, {}));
    RETURN_IF_ERROR(ring.segment({}, {}));
    RETURN_IF_ERROR(ring.endOfEpoch(0, 3, {}));
    RETURN_IF_ERROR(ring.error(dataLoss("x"), {}));
    return ring.endOfStream({});
}

struct LeavableRingTest : ::testing::Test {
    std::shared_ptr<Answering> first = std::make_shared<Answering>();
    std::shared_ptr<Answering> second = std::make_shared<Answering>();
    std::shared_ptr<std::atomic<int>> present = std::make_shared<std::atomic<int>>(2);
    LeavableRing one{first, present}, two{second, present};
};

TEST_F(LeavableRingTest, HandsOnWhatComesWhileItsReaderIsThere) {
    EXPECT_TRUE(everything(one).ok());
    EXPECT_EQ(first->calls, 11);
    EXPECT_TRUE(one.wants(0, 0));
}

TEST_F(LeavableRingTest, TakesWhatComesForAReaderThatLeftWhileAnotherIsThere) {
    const Result<FrameSlot> before = one.reserve(100, 0, 0, {});
    ASSERT_TRUE(before.ok());
    first->answer = unavailable("gone");
    EXPECT_TRUE(one.commit(*before, 0, 0).ok());
    EXPECT_FALSE(one.wants(0, 1));
    first->calls = 0;
    EXPECT_TRUE(everything(one).ok());
    EXPECT_EQ(first->calls, 0) << "the ring hears no more";
    EXPECT_TRUE(everything(two).ok());
    EXPECT_EQ(present->load(), 1);

    second->answer = unavailable("gone");
    EXPECT_EQ(two.endOfStream({}).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(everything(one).code(), absl::StatusCode::kUnavailable);
    EXPECT_EQ(present->load(), 0);
}

TEST_F(LeavableRingTest, OtherAnswersAreToldAsTheyAre) {
    first->answer = cancelled("stopped");
    EXPECT_EQ(one.reserve(100, 0, 0, {}).status().code(), absl::StatusCode::kCancelled);
    EXPECT_EQ(one.endOfStream({}).code(), absl::StatusCode::kCancelled);
    EXPECT_TRUE(one.wants(0, 0));
    EXPECT_EQ(present->load(), 2);
}

}  // namespace
}  // namespace millrace::ring
