#include "backend/telemetry/sample_ring.h"

#include <thread>

#include <gtest/gtest.h>

namespace millrace::telemetry {
namespace {

NodeSample at(std::int64_t timeMs) {
    NodeSample sample;
    sample.timeMs = timeMs;
    return sample;
}

TEST(SampleRing, KeepsTheNewestAndHandsThemOutOldestFirst) {
    SampleRing ring(3);
    EXPECT_FALSE(ring.latest().has_value());
    for (int i = 1; i <= 5; ++i) {
        ring.add(at(i));
    }
    const auto all = ring.since(0);
    ASSERT_EQ(all.size(), 3U);
    EXPECT_EQ(all[0].timeMs, 3);
    EXPECT_EQ(all[2].timeMs, 5);
    EXPECT_EQ(ring.since(4).size(), 1U);
    EXPECT_TRUE(ring.since(5).empty());
    EXPECT_EQ(ring.latest()->timeMs, 5);
}

TEST(SampleRing, AWaiterIsWokenByANewerSampleAndNotByAnOldOne) {
    SampleRing ring(3);
    ring.add(at(1));
    EXPECT_FALSE(ring.waitNewer(1, std::chrono::milliseconds(1)));
    std::thread adder([&] { ring.add(at(2)); });
    EXPECT_TRUE(ring.waitNewer(1, std::chrono::seconds(20)));
    adder.join();
}

}  // namespace
}  // namespace millrace::telemetry
