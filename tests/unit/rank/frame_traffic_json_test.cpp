#include "backend/rank/frame_traffic_json.h"

#include <gtest/gtest.h>

namespace millrace::rank {
namespace {

TEST(FrameTrafficJson, IsReadAsItWasWritten) {
    values::FrameTraffic traffic;
    traffic.nodes = {{"n0", {1, 2, 3.5, 4}, {5, 6, 7, 8}}, {"", {9, 10, 0, 0}, {}}};
    traffic.otherNodes = 12;
    traffic.numLinks = 40;
    traffic.slowest = {{"n1", "data0", "n0", "feed", 11, 22, 3.5, 97}};
    traffic.seconds = 60;
    traffic.directBytes = 5;
    traffic.carriedBytes = 6;
    EXPECT_EQ(trafficOf(trafficJson(traffic)), traffic);
    EXPECT_TRUE(trafficOf(Json()).isEmpty());
}

TEST(FrameTrafficJson, MoreThanTheBoundsIsSummedUpOrLeftOut) {
    values::FrameTraffic traffic;
    for (int n = 0; n < 1000; ++n) {
        const std::string name = std::to_string(n);
        traffic.nodes.push_back({name, {1, 1, 0, 0}, {}});
        traffic.slowest.push_back({name, "data0", "n0", "feed", 1, 1, 1, 0});
    }
    const values::FrameTraffic read = trafficOf(trafficJson(traffic));
    EXPECT_EQ(read.nodes.size(), values::FrameTraffic::kNodesMost + 1);
    EXPECT_EQ(read.nodes.back().sent.bytes, 1000 - values::FrameTraffic::kNodesMost);
    EXPECT_EQ(read.slowest.size(), values::FrameTraffic::kSlowestLinks);
}

}  // namespace
}  // namespace millrace::rank
