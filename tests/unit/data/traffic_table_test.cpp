#include "daemon/worker/data/traffic_table.h"

#include <gtest/gtest.h>

#include "backend/core/status.h"

namespace millrace::data {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::uint64_t kMb = 1'000'000;
const wire::Sender kFeed{"n0", "feed"}, kRelay{"n1", "feed1"}, kData{"n2", "data0"},
    kOther{"n2", "data1"};

TEST(TrafficTable, SumsUpByNodeAndMeasuresRates) {
    TrafficTable table;
    std::int64_t nowNs = 7 * kSecond;
    table.tick(nowNs);
    for (int second = 0; second < 30; ++second) {
        table.add(kData, kFeed, {kMb, kSecond / 2, 3 * kMb});
        table.add(kData, kRelay, {2 * kMb, kSecond, 4 * kMb});
        table.add(kOther, kRelay, {kMb, 0, kMb});
        table.add(kFeed, kRelay, {kMb, kSecond / 4, kMb});
        table.tick(nowNs += kSecond);
    }
    const values::FrameTraffic all = table.table();
    EXPECT_EQ(all.numLinks, 4);
    EXPECT_EQ(all.seconds, 30);
    ASSERT_EQ(all.nodes.size(), 3U);
    const values::NodeTraffic& data = *all.node("n2");
    EXPECT_EQ(data.sent.bytes, 30 * 4 * kMb);
    EXPECT_EQ(data.sent.rawBytes, 30 * 8 * kMb);
    EXPECT_NEAR(data.sent.bytesPerSecond, 4e6, 1e4);
    EXPECT_NEAR(data.sent.rawBytesPerSecond, 8e6, 1e4);
    EXPECT_EQ(data.received.bytes, 0U);
    EXPECT_EQ(all.node("n1")->received.bytes, 30 * 4 * kMb);
    EXPECT_EQ(all.node("n0")->received.bytes, 30 * kMb);
    EXPECT_EQ(all.node("n0")->sent.bytes, 30 * kMb);
    // Nobody has waited for data1.
    ASSERT_EQ(all.slowest.size(), 3U);
    EXPECT_EQ(all.slowest[0].toNode, "n0");
    EXPECT_EQ(all.slowest[0].bytesPerSecond(), 2e6);
    EXPECT_NEAR(all.slowest[0].awaitedPercent, 50, 0.1);
    EXPECT_EQ(all.slowest[2].fromWorker, "feed");
    EXPECT_NEAR(table.awaitedShare(kData), 1, 1e-3) << "its most awaited link";
    EXPECT_EQ(table.awaitedShare(kOther), 0);
}

TEST(TrafficTable, RatesEndSoonAfterTheFrames) {
    TrafficTable table;
    table.tick(kSecond);
    table.add(kData, kFeed, {kMb, kSecond, kMb});
    table.tick(2 * kSecond);
    EXPECT_GT(table.table().nodes.front().received.bytesPerSecond, 1e5);
    for (std::int64_t second = 3; second < 100; ++second) {
        table.tick(second * kSecond);
    }
    EXPECT_EQ(table.table().nodes.front().received.bytesPerSecond, 0);
    EXPECT_EQ(table.table().nodes.front().received.bytes, kMb);
    EXPECT_EQ(table.awaitedShare(kData), 0);
    EXPECT_EQ(table.table().seconds, 1);
}

TEST(TrafficTable, IsBoundedAndLosesNoBytes) {
    TrafficTable table;
    constexpr std::size_t kMany = TrafficTable::kLinksMost + 1000;
    for (std::size_t n = 0; n < kMany; ++n) {
        table.add({strCat("n", n), "data0"}, {"head", "feed"}, {1, kSecond, 2});
    }
    const values::FrameTraffic all = table.table();
    EXPECT_EQ(all.nodes.size(), values::FrameTraffic::kNodesMost + 1);
    EXPECT_EQ(all.slowest.size(), values::FrameTraffic::kSlowestLinks);
    EXPECT_EQ(all.numLinks, TrafficTable::kLinksMost);
    std::uint64_t sent = 0;
    for (const values::NodeTraffic& node : all.nodes) {
        sent += node.sent.bytes;
    }
    EXPECT_EQ(sent, kMany);
    EXPECT_EQ(all.node("head")->received.rawBytes, 2 * kMany);
}

}  // namespace
}  // namespace millrace::data
