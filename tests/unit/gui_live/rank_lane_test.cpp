#include "app/gui/models/live/rank_lane.h"

#include <gtest/gtest.h>

#include "app/gui/models/live/lane_model.h"

namespace millrace::gui {
namespace {

constexpr std::int64_t kRankStart = 1'000'000;

values::RankNow rankAt(int number, std::int64_t timeMs, double busyMs, double stallMs) {
    values::RankNow rank;
    rank.rank = number;
    rank.state = "running";
    rank.phase = values::Phase::kTraining;
    rank.step = timeMs / 100 - kRankStart / 100;
    rank.times = values::PhaseTimes{busyMs, stallMs};
    rank.timeMs = timeMs;
    rank.stepMs = 12.3;
    rank.steppedMs = timeMs;
    return rank;
}

values::RunSummary aRun(std::vector<values::RankNow> ranks) {
    values::RunSummary run;
    run.id = "r-1";
    run.name = "clicks";
    run.state = values::RunState::kRunning;
    run.attempt = 1;
    run.createdMs = run.startedMs = kRankStart;
    run.ranks = std::move(ranks);
    return run;
}

double timeIn(const RankLane& lane, LanePhase phase) {
    return lane.tracker.durations()[static_cast<std::size_t>(phase)];
}

TEST(RankLanes, EachRankHasItsOwnStripAndStall) {
    LaneModel model;
    model.apply(true,
                {aRun({rankAt(0, kRankStart + 1'000, 0, 0), rankAt(1, kRankStart + 1'000, 0, 0)})},
                {}, kRankStart + 1'000);
    model.apply(
        false,
        {aRun({rankAt(0, kRankStart + 2'000, 900, 100), rankAt(1, kRankStart + 2'000, 250, 750)})},
        {}, kRankStart + 2'000);
    const std::vector<RankLane>& ranks = model.lane(0).ranks;
    ASSERT_EQ(ranks.size(), 2U);
    EXPECT_DOUBLE_EQ(timeIn(ranks[0], LanePhase::kWaiting), 100);
    EXPECT_DOUBLE_EQ(timeIn(ranks[1], LanePhase::kWaiting), 750);
    EXPECT_DOUBLE_EQ(*ranks[0].view.stallPercent(), 10);
    EXPECT_DOUBLE_EQ(*ranks[1].view.stallPercent(), 75);
    EXPECT_EQ(ranks[1].title(), "rank 1");
    EXPECT_EQ(ranks[1].state(kRankStart + 2'000), "training");
    EXPECT_EQ(ranks[1].stepText(), "step 20");
    EXPECT_EQ(ranks[1].stepTimeText(), "12.3 ms");
}

TEST(RankLanes, AStoppedRankStandsInItsStripFromWhenItWasHeardLast) {
    LaneModel model;
    const auto tell = [&](const values::RankNow& second, std::int64_t nowMs) {
        model.apply(false, {aRun({rankAt(0, nowMs, 0, 0), second})}, {}, nowMs);
    };
    tell(rankAt(1, kRankStart + 1'000, 0, 0), kRankStart + 1'000);
    tell(rankAt(1, kRankStart + 2'000, 1'000, 0), kRankStart + 2'000);
    values::RankNow stopped = rankAt(1, kRankStart + 2'000, 1'000, 0);
    stopped.state = "stopped";
    stopped.trouble = "rank1 stands still after step 20: its process is stopped (SIGSTOP)";
    stopped.standsSinceMs = kRankStart + 2'000;
    tell(stopped, kRankStart + 12'000);
    const RankLane& lane = model.lane(0).ranks[1];
    ASSERT_TRUE(lane.tracker.open());
    EXPECT_EQ(lane.tracker.open()->phase, LanePhase::kStanding);
    EXPECT_DOUBLE_EQ(lane.tracker.open()->fromMs, kRankStart + 2'000);
    EXPECT_TRUE(lane.stands());
    EXPECT_EQ(lane.state(kRankStart + 18'000), "stopped, 16.0 s");
    EXPECT_EQ(lane.sentence(kRankStart + 18'000),
              "rank1 stands still after step 20: its process is stopped (SIGSTOP), for 16.0 s");
    EXPECT_EQ(lane.oldStepText(kRankStart + 18'000), "16.0 s old");
    EXPECT_NE(model.lane(0).ranks[0].tracker.open()->phase, LanePhase::kStanding);
    tell(rankAt(1, kRankStart + 20'000, 2'000, 0), kRankStart + 20'000);
    EXPECT_DOUBLE_EQ(timeIn(model.lane(0).ranks[1], LanePhase::kStanding), 18'000);
    EXPECT_EQ(model.lane(0).ranks[1].tracker.open()->phase, LanePhase::kTraining);
}

TEST(RankLanes, ThoseOfARunThatEndedStayAndOtherNumbersOfRanksTakeTheirPlace) {
    LaneModel model;
    model.apply(true,
                {aRun({rankAt(0, kRankStart + 1'000, 0, 0), rankAt(1, kRankStart + 1'000, 0, 0)})},
                {}, kRankStart + 1'000);
    values::RunSummary ended = aRun({});
    ended.state = values::RunState::kCancelled;
    ended.endedMs = kRankStart + 5'000;
    model.apply(false, {ended}, {}, kRankStart + 5'000);
    ASSERT_EQ(model.lane(0).ranks.size(), 2U);
    EXPECT_EQ(model.lane(0).ranks[1].state(kRankStart + 5'000), "ended");
    EXPECT_FALSE(model.lane(0).ranks[1].tracker.open());
    EXPECT_EQ(model.lane(0).ranks[1].oldStepText(kRankStart + 60'000), "");
    values::RunSummary again = aRun({rankAt(0, kRankStart + 9'000, 0, 0)});
    again.attempt = 2;
    model.apply(false, {again}, {}, kRankStart + 9'000);
    EXPECT_EQ(model.lane(0).ranks.size(), 1U);
}

TEST(RankLanes, AreFilledFromWhatIsStored) {
    LaneModel model;
    values::RunSummary ended = aRun({});
    ended.state = values::RunState::kFinished;
    ended.endedMs = kRankStart + 5'000;
    model.apply(true, {ended}, {}, kRankStart + 6'000);
    const std::vector<LaneTracker::Point> stored = {{kRankStart + 1'000, {1'000, 0}, 1},
                                                    {kRankStart + 2'000, {1'600, 400}, 1}};
    model.setRankHistory("r-1", 1, stored);
    model.setRankHistory("r-1", 0, stored);
    model.setRankHistory("r-2", 0, stored);
    ASSERT_EQ(model.lane(0).ranks.size(), 2U);
    EXPECT_EQ(model.lane(0).ranks[0].now.rank, 0) << "by number";
    EXPECT_DOUBLE_EQ(timeIn(model.lane(0).ranks[1], LanePhase::kWaiting), 400);
}

}  // namespace
}  // namespace millrace::gui
