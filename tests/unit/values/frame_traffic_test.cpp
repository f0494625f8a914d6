#include "backend/values/frame_traffic.h"

#include <gtest/gtest.h>

#include "backend/core/status.h"

namespace millrace::values {
namespace {

LinkTraffic linkOf(const std::string& from, std::uint64_t bytes, double awaitedSeconds) {
    return {from, "data0", "n0", "feed", bytes, 2 * bytes, awaitedSeconds, 0};
}

TEST(FrameTraffic, ListsTheBusiestNodesByNameAndSumsUpTheOthers) {
    FrameTraffic traffic;
    for (std::uint64_t n = 0; n < FrameTraffic::kNodesMost + 3; ++n) {
        traffic.nodes.push_back({strCat("n", 1000 - n), {n, 2 * n, 1, 2}, {0, 0, 0, 0}});
    }
    traffic.boundNodes();
    ASSERT_EQ(traffic.nodes.size(), FrameTraffic::kNodesMost + 1);
    EXPECT_EQ(traffic.otherNodes, 3);
    EXPECT_EQ(traffic.nodes.back(), (NodeTraffic{"", {0 + 1 + 2, 2 * (0 + 1 + 2), 3, 6}, {}}));
    EXPECT_EQ(traffic.nodes.front().node, strCat("n", 1000 - FrameTraffic::kNodesMost - 2));
    EXPECT_EQ(traffic.node("n1000"), nullptr) << "it has the fewest bytes";
    const FrameTraffic before = traffic;
    traffic.boundNodes();
    EXPECT_EQ(traffic, before);
}

TEST(FrameTraffic, TheSlowestLinksHaveTheLowestRatesWhileTheyAreAwaited) {
    FrameTraffic traffic;
    for (int n = 1; n <= 8; ++n) {
        traffic.slowest.push_back(linkOf(strCat("n", n), 1000 * n, 1));
    }
    traffic.slowest.push_back(linkOf("unawaited", 10, 0));
    traffic.slowest.push_back(linkOf("hardly awaited", 10, 0.05));
    traffic.slowest.push_back(linkOf("stuck", 0, 4));
    traffic.boundLinks();
    std::string names;
    for (const LinkTraffic& link : traffic.slowest) {
        strAppend(&names, link.fromNode, " ");
    }
    EXPECT_EQ(names, "stuck n1 n2 n3 n4 ");
    EXPECT_EQ(traffic.slowest[1].bytesPerSecond(), 1000);
    EXPECT_EQ(traffic.slowest[0].bytesPerSecond(), 0);
}

TEST(FrameTraffic, AttemptsAreSummedAndTheirRatesAreMeans) {
    FrameTraffic first, second, all;
    first.nodes = {{"n0", {}, {100, 200, 7, 8}}, {"n1", {100, 200, 7, 8}, {}}};
    first.slowest = {linkOf("n1", 100, 2)};
    first.seconds = 4;
    first.directBytes = 30;
    first.carriedBytes = 10;
    second = first;
    second.nodes[1].node = "n2";
    all.add(first);
    all.add(second);
    ASSERT_EQ(all.nodes.size(), 3U);
    EXPECT_EQ(all.nodes[0], (NodeTraffic{"n0", {}, {200, 400, 25, 50}}));
    EXPECT_EQ(all.nodes[2], (NodeTraffic{"n2", {100, 200, 12.5, 25}, {}}));
    ASSERT_EQ(all.slowest.size(), 1U);
    EXPECT_EQ(all.slowest[0].bytes, 200U);
    EXPECT_EQ(all.slowest[0].bytesPerSecond(), 50);
    EXPECT_EQ(all.slowest[0].awaitedPercent, 50);
    EXPECT_EQ(all.leadShare(), 0.25);
    EXPECT_EQ(FrameTraffic().leadShare(), std::nullopt);
}

}  // namespace
}  // namespace millrace::values
