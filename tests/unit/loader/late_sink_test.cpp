#include "daemon/worker/loader/feed/late_sink.h"

#include <future>

#include <gtest/gtest.h>

#include "tests/unit/ring/entry_ring.h"

namespace millrace::loader {
namespace {

TEST(LateSink, WhoDeliversWaitsForTheRanks) {
    LateSink sink(nullptr);
    const auto ring = std::make_shared<ring::EntryRing>();
    std::promise<void> asks;
    auto slot = std::async(std::launch::async, [&] {
        asks.set_value();
        return sink.reserve(64, 0, 0, {});
    });
    asks.get_future().wait();
    EXPECT_FALSE(sink.hasRanks());
    sink.deliverTo({{0, ring, std::nullopt, false}}, {});
    ASSERT_TRUE(slot.get().ok());
    EXPECT_TRUE(sink.hasRanks());
    EXPECT_EQ(ring->entries.size(), 1U);
    EXPECT_TRUE(sink.wants(0, 1));
}

TEST(LateSink, ARankThatHasABatchIsNotGivenItAgain) {
    LateSink sink(nullptr);
    const auto ring = std::make_shared<ring::EntryRing>();
    sink.deliverTo({{0, ring, ring::FeedPosition{0, 3}, false}}, {});
    EXPECT_FALSE(sink.wants(0, 2));
    EXPECT_TRUE(sink.wants(0, 3));
}

TEST(LateSink, NobodyWaitsForRanksThatNeverCome) {
    LateSink sink(nullptr);
    std::promise<void> asks;
    auto end = std::async(std::launch::async, [&] {
        asks.set_value();
        return sink.endOfStream({});
    });
    asks.get_future().wait();
    sink.abandon();
    EXPECT_EQ(end.get().code(), absl::StatusCode::kCancelled);
    EXPECT_FALSE(sink.hasLostReader());
}

}  // namespace
}  // namespace millrace::loader
