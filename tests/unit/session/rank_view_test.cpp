#include "app/session/rank_view.h"

#include <gtest/gtest.h>

namespace millrace::session {
namespace {

values::RankNow running(int number) {
    values::RankNow rank;
    rank.rank = number;
    rank.state = "running";
    rank.phase = values::Phase::kTraining;
    rank.step = 40;
    rank.stepMs = 12.34;
    rank.stepStallPercent = 25;
    rank.steppedMs = 100'000;
    return rank;
}

TEST(RankView, SaysWhatARankDoesOrWhyItDoesNotGetOn) {
    values::RankNow rank = running(1);
    EXPECT_EQ(rankWord(rank), "training");
    EXPECT_FALSE(standsSeconds(rank, 200'000));
    rank.phase = values::Phase::kWaiting;
    EXPECT_EQ(rankWord(rank), "waiting for data");
    rank.phase = values::Phase::kUnknown;
    EXPECT_EQ(rankWord(rank), "no report yet");
    rank.state = "starting";
    EXPECT_EQ(rankWord(rank), "starting");
    rank.standsSinceMs = 184'000;
    rank.state = "stopped";
    EXPECT_EQ(rankWord(rank), "stopped");
    EXPECT_TRUE(standsItself(rank));
    EXPECT_DOUBLE_EQ(*standsSeconds(rank, 200'000), 16);
    rank.state = "silent";
    EXPECT_EQ(rankWord(rank), "says nothing");
    rank.state = "hung";
    EXPECT_EQ(rankWord(rank), "takes no step");
    rank.state = "waiting";
    EXPECT_EQ(rankWord(rank), "starved of data");
    EXPECT_FALSE(standsItself(rank)) << "the feed does";
}

TEST(RankView, AStepTimeThatIsLongGoneSaysHowOldItIs) {
    values::RankNow rank = running(0);
    EXPECT_EQ(stepTimeText(rank), "12.3 ms");
    EXPECT_FALSE(oldStepSeconds(rank, 104'000));
    EXPECT_DOUBLE_EQ(*oldStepSeconds(rank, 112'000), 12);
    rank.stepMs = 10'000;
    EXPECT_FALSE(oldStepSeconds(rank, 112'000)) << "its next step is not late yet";
    rank.stepMs.reset();
    rank.steppedMs = 0;
    EXPECT_EQ(stepTimeText(rank), "n/a");
    EXPECT_FALSE(oldStepSeconds(rank, 112'000)) << "what has not come has no age";
}

TEST(RankView, ManyRanksSayHowManyDoNotGetOn) {
    std::vector<values::RankNow> ranks = {running(0), running(1), running(2)};
    EXPECT_EQ(ranksText(ranks), "3 ranks");
    ranks[1].standsSinceMs = 1;
    EXPECT_EQ(ranksText(ranks), "3 ranks, rank 1 is stalled");
    ranks[2].standsSinceMs = 1;
    EXPECT_EQ(ranksText(ranks), "3 ranks, 2 are stalled");
}

TEST(RankView, ARunSeenByARankHasTheRanksFigures) {
    values::RunSummary run;
    run.id = "r-1";
    run.state = values::RunState::kRunning;
    run.attempt = 2;
    run.progress.step = 41;
    run.progress.stepsTotal = 100;
    values::RankNow rank = running(1);
    rank.times = values::PhaseTimes{30, 70};
    rank.stallPercentNow = 25;
    rank.trouble = "rank1 stands still";
    rank.standsSinceMs = 5;
    const values::RunSummary view = seenBy(rank, run);
    EXPECT_EQ(view.id, "r-1");
    EXPECT_EQ(view.attempt, 2);
    EXPECT_EQ(view.progress.step, 40);
    EXPECT_EQ(view.progress.stepsTotal, 100);
    EXPECT_EQ(view.progress.times, rank.times);
    EXPECT_EQ(view.progress.stallPercentNow, 25);
    EXPECT_TRUE(view.isStalled());
    EXPECT_EQ(view.trouble, "rank1 stands still");
}

}  // namespace
}  // namespace millrace::session
