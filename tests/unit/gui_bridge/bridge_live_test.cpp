#include <atomic>

#include "backend/core/thread.h"
#include "tests/support/metric_lines.h"
#include "tests/unit/gui_bridge/bridge_fixture.h"

namespace millrace::gui {
namespace {

using values::LogLine;
using values::RunFigure;
using values::RunState;

class BridgeLiveTest : public BridgeTest {
 protected:
    void SetUp() override {
        daemon.putRun(running("r-a"));
        ASSERT_TRUE(connectAndWait());
    }
    std::unique_ptr<Following> followMetrics(std::vector<std::string> ids,
                                             MetricCursors after = {}) {
        return bridge->followMetrics(
            std::move(ids),
            [this](const std::string& run, const MetricsDelta& delta) { take(run, delta); },
            std::move(after));
    }
    void take(const std::string& run, const MetricsDelta& delta) {
        auto& mine = points[run];
        if (delta.dropAfterStep) {
            std::erase_if(mine, [&](const auto& p) { return p.step > *delta.dropAfterStep; });
        }
        if (delta.names) {
            const auto fresh = client::pointsOf(delta.lines, *delta.names);
            mine.insert(mine.end(), fresh.begin(), fresh.end());
        }
        isAllThere = isAllThere || delta.isComplete;
        hasEnded = hasEnded || delta.hasEnded;
    }
    std::unique_ptr<Following> followLogs(const std::string& run, int tail) {
        return bridge->followLogs(run, tail, [this](const LogsDelta& delta) {
            lines.insert(lines.end(), delta.lines.begin(), delta.lines.end());
            numDropped += delta.droppedLines;
            mostLines = std::max(mostLines, delta.lines.size());
            hasEnded = hasEnded || delta.hasEnded;
        });
    }
    std::vector<std::int64_t> steps(const std::string& run, const std::string& name = "loss") {
        std::vector<std::int64_t> all;
        for (const RunFigure& point : points[run]) {
            if (point.name == name) {
                all.push_back(point.step);
            }
        }
        return all;
    }
    static std::vector<std::int64_t> range(std::int64_t from, std::int64_t to) {
        std::vector<std::int64_t> all;
        for (; from <= to; ++from) {
            all.push_back(from);
        }
        return all;
    }
    static std::vector<LogLine> someLines(int from, int count) {
        std::vector<LogLine> all;
        for (int i = from; i < from + count; ++i) {
            all.push_back({i, "rank0", "line " + std::to_string(i), false, 1});
        }
        return all;
    }

    std::map<std::string, std::vector<RunFigure>> points;
    std::vector<LogLine> lines;
    std::uint64_t numDropped = 0;
    std::size_t mostLines = 0;
    bool isAllThere = false, hasEnded = false;
};

TEST_F(BridgeLiveTest, MetricsOfARunArriveAndGoOnUntilItEnds) {
    daemon.addPoints("r-a", losses(1, 2'500));
    const auto following = followMetrics({"r-a"});
    ASSERT_TRUE(until([&] { return points["r-a"].size() == 2'500; }));
    EXPECT_FALSE(hasEnded);
    daemon.addPoints("r-a", losses(2'501, 2'600));
    ASSERT_TRUE(until([&] { return points["r-a"].size() == 2'600; }));
    daemon.setState("r-a", RunState::kFinished);
    ASSERT_TRUE(until([&] { return hasEnded; }));
    EXPECT_EQ(steps("r-a"), range(1, 2'600));
    EXPECT_TRUE(isAllThere);
}

TEST_F(BridgeLiveTest, WhatTheStoreHadAtTheBeginningIsSaidToBeComplete) {
    daemon.addPoints("r-a", losses(1, 99));
    const auto following = followMetrics({"r-a"});
    ASSERT_TRUE(until([&] { return isAllThere; }));
    EXPECT_EQ(points["r-a"].size(), 99U) << "not before";
}

TEST_F(BridgeLiveTest, ARunWithoutMetricsIsCompleteAtOnce) {
    const auto following = followMetrics({"r-a"});
    EXPECT_TRUE(until([&] { return isAllThere; }));
}

TEST_F(BridgeLiveTest, AFollowingMayBeginBehindWhatIsKnown) {
    daemon.addPoints("r-a", losses(1, 500));
    const auto following = followMetrics({"r-a"}, {{"r-a", {1, 400}}});
    ASSERT_TRUE(until([&] { return points["r-a"].size() == 100; }));
    daemon.goAway();
    ASSERT_TRUE(until([&] { return daemon.numStreams("metrics") == 0; }));
    daemon.addPoints("r-a", losses(501, 510));
    daemon.comeBack();
    ASSERT_TRUE(until([&] { return points["r-a"].size() >= 110; }));
    EXPECT_EQ(steps("r-a"), range(401, 510));
    EXPECT_EQ(daemon.metricStarts().back(), 500);
}

TEST_F(BridgeLiveTest, ALostConnectionLeavesNeitherAHoleNorARepetition) {
    daemon.putRun(running("r-b"));
    const auto metrics = followMetrics({"r-a", "r-b"});
    const auto logs = followLogs("r-a", 0);
    std::int64_t step = 0;
    int line = 0;
    for (int round = 0; round < 4; ++round) {
        for (const char* run : {"r-a", "r-b"}) {
            daemon.addPoints(run, losses(step + 1, step + 1'500));
        }
        daemon.addLines("r-a", someLines(line, 1'200));
        step += 1'500;
        line += 1'200;
        if (round > 0) {
            daemon.goAway();
            for (const char* run : {"r-a", "r-b"}) {
                daemon.addPoints(run, losses(step + 1, step + 40));
            }
            daemon.addLines("r-a", someLines(line, 30));
            step += 40;
            line += 30;
            daemon.comeBack();
        }
        ASSERT_TRUE(until([&] { return std::ssize(points["r-b"]) >= step; }));
    }
    ASSERT_TRUE(until([&] { return std::ssize(lines) >= line && points["r-a"].size() >= 6'120; }));
    EXPECT_EQ(steps("r-a"), range(1, step));
    EXPECT_EQ(steps("r-b"), range(1, step));
    for (int i = 0; i < line; ++i) {
        ASSERT_EQ(lines[static_cast<std::size_t>(i)].timeMs, i);
    }
    EXPECT_EQ(numDropped, 0U);
}

TEST_F(BridgeLiveTest, ANewAttemptDropsFirstAndAppendsThen) {
    const auto following = followMetrics({"r-a"});
    daemon.addPoints("r-a", losses(1, 100));
    ASSERT_TRUE(until([&] { return points["r-a"].size() == 100; }));
    daemon.beginAttempt("r-a", 60);
    daemon.addPoints("r-a", losses(61, 80, 2));
    ASSERT_TRUE(
        until([&] { return points["r-a"].size() == 80 && points["r-a"].back().attempt == 2; }));
    EXPECT_EQ(steps("r-a"), range(1, 80));
}

TEST_F(BridgeLiveTest, ANewAttemptThatBeganWhileTheConnectionWasLostIsNoticed) {
    const auto following = followMetrics({"r-a"});
    daemon.addPoints("r-a", losses(1, 3'000));
    ASSERT_TRUE(until([&] { return points["r-a"].size() == 3'000; }));
    daemon.goAway();
    daemon.beginAttempt("r-a", 60);
    daemon.addPoints("r-a", losses(61, 2'500, 2));
    daemon.comeBack();
    ASSERT_TRUE(until([&] { return points["r-a"].size() == 2'500; }));
    EXPECT_EQ(steps("r-a"), range(1, 2'500));
    EXPECT_EQ(points["r-a"][59].attempt, 1);
    EXPECT_EQ(points["r-a"][60].attempt, 2);
}

TEST_F(BridgeLiveTest, AFollowingThatDiesIsNotCalledAnyMore) {
    auto following = followMetrics({"r-a"});
    daemon.addPoints("r-a", losses(1, 10));
    ASSERT_TRUE(until([&] { return points["r-a"].size() == 10; }));
    daemon.addPoints("r-a", losses(11, 20));
    following.reset();
    ASSERT_TRUE(becomesQuiet());
    EXPECT_EQ(points["r-a"].size(), 10U);
    EXPECT_TRUE(until([&] { return daemon.numStreams("metrics") == 0; }));
}

TEST_F(BridgeLiveTest, AFollowingMayEndItselfOrTheBridgeInsideItsCallback) {
    daemon.addPoints("r-a", losses(1, 10));
    int numCalls = 0;
    std::unique_ptr<Following> following;
    following = bridge->followMetrics({"r-a"}, [&](const std::string&, const MetricsDelta&) {
        ++numCalls;
        following.reset();
    });
    ASSERT_TRUE(until([&] { return numCalls > 0; }));
    bool isEnded = false;
    const auto last = bridge->followMetrics({"r-a"}, [&](const std::string&, const MetricsDelta&) {
        bridge.reset();
        isEnded = true;
    });
    ASSERT_TRUE(until([&] { return isEnded; }));
    EXPECT_EQ(numCalls, 1);
}

TEST_F(BridgeLiveTest, FollowingsEndWhenTheDaemonIsSwitched) {
    const auto following = followMetrics({"r-a"});
    ASSERT_TRUE(until([&] { return daemon.numStreams("metrics") == 1; }));
    bridge->connectTo("unix:/fake.sock");
    EXPECT_EQ(daemon.numStreams("metrics"), 0);
    daemon.addPoints("r-a", losses(1, 10));
    ASSERT_TRUE(becomesQuiet());
    EXPECT_TRUE(points["r-a"].empty());
}

TEST_F(BridgeLiveTest, ARunThatIsNotThereHasEnded) {
    daemon.fail("metrics", notFound("no run 'r-none'"));
    const auto following = followMetrics({"r-none"});
    EXPECT_TRUE(until([&] { return hasEnded; }));
}

TEST_F(BridgeLiveTest, FiftyThousandLinesASecondAreAtMostTwentyDeliveriesASecondWithoutLoss) {
    constexpr int kSeconds = 2, kLines = 50'000 * kSeconds, kPoints = 10'000 * kSeconds;
    const auto metrics = followMetrics({"r-a"});
    const auto logs = followLogs("r-a", 100);
    ASSERT_TRUE(
        until([&] { return daemon.numStreams("logs") == 1 && daemon.numStreams("metrics") == 1; }));
    ASSERT_TRUE(becomesQuiet());
    const std::uint64_t before = bridge->numDeliveries();
    const auto start = std::chrono::steady_clock::now();
    int sentLines = 0, sentPoints = 0;
    const auto feed = [&] {
        const double part = std::min(
            1.0, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() /
                     kSeconds);
        const int dueLines = static_cast<int>(part * kLines);
        const int duePoints = static_cast<int>(part * kPoints);
        daemon.addLines("r-a", someLines(sentLines, dueLines - sentLines));
        daemon.addPoints("r-a", losses(sentPoints + 1, duePoints));
        sentLines = dueLines;
        sentPoints = duePoints;
        return std::ssize(lines) == kLines && std::ssize(points["r-a"]) == kPoints;
    };
    ASSERT_TRUE(until(feed));
    const double seconds =
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    EXPECT_LE(static_cast<double>(bridge->numDeliveries() - before), 20 * seconds + 2);
    EXPECT_EQ(numDropped, 0U);
    EXPECT_EQ(bridge->droppedUpdates(), 0U);
    EXPECT_EQ(steps("r-a"), range(1, kPoints));
    for (int i = 0; i < kLines; ++i) {
        ASSERT_EQ(lines[static_cast<std::size_t>(i)].timeMs, i);
    }
}

TEST_F(BridgeLiveTest, AGuiThatIsBehindKeepsTheNewestLinesAndCountsTheRest) {
    const auto logs = followLogs("r-a", 100);
    ASSERT_TRUE(until([&] { return daemon.numStreams("logs") == 1; }));
    ASSERT_TRUE(becomesQuiet());
    // The GUI thread is busy for more than a second and handles no event.
    daemon.addLines("r-a", someLines(0, 12'000));
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(2'500)) {
    }
    ASSERT_TRUE(until([&] { return lines.size() + numDropped == 12'000; }));
    EXPECT_GT(numDropped, 0U);
    EXPECT_EQ(bridge->droppedUpdates(), numDropped);
    EXPECT_LE(mostLines, 5'000U);
    EXPECT_EQ(lines.back().timeMs, 11'999);
}

TEST_F(BridgeLiveTest, AGuiThatIsBehindHoldsPointsBackAndLosesNone) {
    const auto metrics = followMetrics({"r-a"});
    ASSERT_TRUE(until([&] { return daemon.numStreams("metrics") == 1; }));
    std::size_t most = 0;
    daemon.addPoints("r-a", losses(1, 100'000));
    ASSERT_TRUE(until([&] {
        const std::size_t before = points["r-a"].size();
        QCoreApplication::processEvents();
        most = std::max(most, points["r-a"].size() - before);
        return points["r-a"].size() == 100'000;
    }));
    EXPECT_EQ(steps("r-a"), range(1, 100'000));
    EXPECT_LE(most, 21'000U);  // a delivery's bound and the chunk that reached the bound
}

TEST_F(BridgeLiveTest, TheEndOfTheBridgeReleasesAStreamThatWaitsForRoom) {
    const auto metrics = followMetrics({"r-a"});
    ASSERT_TRUE(until([&] { return daemon.numStreams("metrics") == 1; }));
    daemon.addPoints("r-a", losses(1, 100'000));
    const auto start = std::chrono::steady_clock::now();
    bridge.reset();
    EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(1));
}

}  // namespace
}  // namespace millrace::gui
