// The reasons for which the daemon ends a gang by itself.
#include "daemon/agent/run/gang_termination.h"

#include "tests/support/temp_dir.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kSecond = 1'000'000'000;

class GangTerminationTest : public ::testing::Test {
 protected:
    GangTerminationTest() {
        directory_.prepare(1).IgnoreError();
        done_.begin(1);
        spec_->train.ranks = 2;
        spec_->dataset.path = {"data.parquet"};
        spec_->command = {"python3", "script.py"};
        health_.setLimits(scriptLimits(1'800 * kSecond, 1'800 * kSecond));
        gang_.emplace().phase = engines::Phase::kRunning;
        for (int rank = 0; rank < 2; ++rank) {
            engines::WorkerState worker;
            worker.name = job::rankName(rank);
            worker.rank = rank;
            worker.isStarted = true;
            gang_->workers.push_back(worker);
            health_.hello(senderOf(rank));
        }
    }

    static rank::Sender senderOf(int rank) {
        rank::Sender sender;
        sender.run = "r-abc23";
        sender.attempt = 1;
        sender.role = "rank";
        sender.rank = rank;
        sender.aliveMs = 1'000;
        return sender;
    }
    void say(int rank, rank::Body body) { health_.heard(senderOf(rank), {0, 1, std::move(body)}); }
    bool isDue(GangView view) { return cut_.isDue(view); }
    GangView view() const {
        return {.gang = gang_, .extent = {.ranks = 2, .maxSteps = spec_->train.maxSteps}};
    }
    AttemptReports told() const {
        AttemptReports facts;
        cut_.tell(facts);
        return facts;
    }

    const tests::TempDir root_;
    FakeClock clock_;
    const RunDirectory directory_{root_.path(), "r-abc23"};
    const std::shared_ptr<spec::RunSpec> spec_ = std::make_shared<spec::RunSpec>();
    RunHealth health_{clock_, [](int) { return 'T'; }};
    DoneWords done_{directory_, clock_};
    GangTermination cut_{spec_, 14 * kSecond, health_, done_};
    std::optional<engines::State> gang_;
};

TEST_F(GangTerminationTest, AStopOfARunWithoutAStreamIsASignalAndLeavesItsTime) {
    GangView stopped = view();
    EXPECT_EQ(cut_.grace(60 * kSecond), GangTermination::kGrace);
    spec_->dataset.path.clear();
    EXPECT_FALSE(isDue(stopped));
    gang_->workers[0].exitCode = 0;
    EXPECT_FALSE(isDue(stopped)) << "each rank ends when its work is done";
    stopped.isStopRequested = true;
    EXPECT_TRUE(isDue(stopped));
    EXPECT_EQ(cut_.event(), "");
    EXPECT_EQ(cut_.grace(60 * kSecond), std::chrono::seconds(60));
    EXPECT_EQ(cut_.grace(-kSecond), GangTermination::kGrace);
}

TEST_F(GangTerminationTest, AGangThatGetsOnIsNotEnded) {
    EXPECT_FALSE(isDue(view()));
    EXPECT_EQ(cut_.event() + cut_.why(), "");
}

TEST_F(GangTerminationTest, AStopsGraceEndsItWhateverElseIsWrong) {
    GangView asked = view();
    asked.isStopRequested = true;
    gang_->workers[1].exitCode = 0;  // left, and was not done
    EXPECT_FALSE(isDue(asked)) << "the ranks have their time";
    asked.isGraceOver = true;
    EXPECT_TRUE(isDue(asked));
    EXPECT_EQ(cut_.event(), "no checkpoint within the grace: ended");
    EXPECT_EQ(cut_.why(), "") << "the stop explains it";
    done_.say("rank0", {});
    done_.say("rank1", {});
    EXPECT_TRUE(isDue(asked));
    EXPECT_THAT(cut_.event(), HasSubstr("done, and still leaving"));
}

TEST_F(GangTerminationTest, ARankThatLeftWithoutDoneEndsItForTheOthers) {
    gang_->workers[1].exitCode = 0;
    EXPECT_TRUE(isDue(view()));
    EXPECT_EQ(cut_.why(), "rank1 ended and was not done");
    EXPECT_EQ(cut_.event(), "rank1 ended and was not done: its gang is ended");
    EXPECT_FALSE(told().stoodStill);
    cut_.begin();
    EXPECT_EQ(cut_.why(), "") << "another attempt";
}

TEST_F(GangTerminationTest, ARankThatWaitsForOneThatLeftTheStreamIsNotLeftToWait) {
    say(0, rank::Progress{.step = 9});
    done_.say("rank1", {.step = 3});
    gang_->workers[1].exitCode = 0;
    const auto wait = [&](double ms) {
        clock_.advanceMs(1'000);
        say(0, rank::Progress{.step = 9, .phase = "waiting", .waitingMs = ms});
    };
    wait(9'000);
    EXPECT_FALSE(isDue(view())) << "it may get what is on its way";
    wait(10'000);
    EXPECT_TRUE(isDue(view()));
    EXPECT_EQ(cut_.why(),
              "rank1 left the stream after step 3, so rank0 gets no data after step 9; all ranks "
              "of a run have to leave it after the same step");
    EXPECT_EQ(told().cutReason, cut_.why()) << "the same again ends the same";
    clock_.advanceMs(5'000);
    EXPECT_FALSE(isDue(view())) << "it has a batch, and its step takes long";
}

TEST_F(GangTerminationTest, ARankThatWaitsBehindTheStreamsEndOfAnotherGetsItsData) {
    spec_->train.maxSteps = 12;
    done_.say("rank1", {.step = 12});
    gang_->workers[1].exitCode = 0;
    say(0, rank::Progress{.step = 9, .phase = "waiting", .waitingMs = 60'000});
    EXPECT_FALSE(isDue(view())) << "all steps were dealt: a slow relay";
    spec_->train.maxSteps = 20;
    EXPECT_FALSE(isDue(view())) << "what it waits for was dealt";
    say(0, rank::Progress{.step = 12, .phase = "waiting", .waitingMs = 60'000});
    EXPECT_TRUE(isDue(view()));
}

TEST_F(GangTerminationTest, ASilentRankEndsItAndIsWhatTheAttemptIsJudgedBy) {
    say(0, rank::Progress{.step = 3});
    say(1, rank::Progress{.step = 3});
    for (int second = 0; second < 14; ++second) {
        EXPECT_FALSE(isDue(view())) << second;
        clock_.advanceMs(1'000);
        say(0, rank::Alive());
        (void)health_.look();
    }
    GangView asked = view();
    asked.isStopRequested = true;
    EXPECT_FALSE(isDue(asked)) << "a user gave the ranks that time";
    asked.isMove = true;
    EXPECT_TRUE(isDue(asked)) << "its node is to be left";
    EXPECT_TRUE(isDue(view()));
    EXPECT_TRUE(cut_.isStandstill());
    const std::string sentence =
        "rank1 stands still after step 3: its process is stopped (SIGSTOP)";
    EXPECT_EQ(cut_.event(), sentence + ": its gang is ended");
    EXPECT_TRUE(told().stoodStill);
    EXPECT_EQ(told().errors["rank1"], sentence);
    spec_->train.ranks = 1;
    spec_->command.clear();
    EXPECT_FALSE(isDue(view())) << "a built-in trainer alone holds nobody";
}

/// Rank 0 is in a step, rank 1 waits for data, and the feed waits for rank 0, each second.
class HeldUpTest : public GangTerminationTest {
 protected:
    HeldUpTest() {
        health_.hello(feed_);
        say(0, rank::Progress{.step = 200});
        say(1, rank::Progress{.step = 200});
    }
    /// Whether the gang is to be ended within `seconds`; `rank0`: what rank 0 reports in each
    /// second.
    bool isDueAfter(int seconds, std::int64_t awaits = 0,
                    const std::optional<rank::Body>& rank0 = rank::Alive()) {
        for (int second = 0; second < seconds; ++second) {
            clock_.advanceMs(1'000);
            health_.heard(feed_, {0, 1, rank::Alive{"", awaits}});
            if (rank0) {
                say(0, *rank0);
            }
            say(0, rank::Alive());
            say(1, rank::Alive());
            waitedMs_ += 1'000;
            say(1, rank::Progress{.step = 200, .phase = "waiting", .waitingMs = waitedMs_});
            (void)health_.look();
            if (isDue(view())) {
                return true;
            }
        }
        return false;
    }

    const rank::Sender feed_{"r-abc23", 1, "feed", 0, 7, 1'000};
    double waitedMs_ = 0;
};

TEST_F(HeldUpTest, RanksThatWaitForEachOtherThroughTheFeedAreEnded) {
    EXPECT_FALSE(isDueAfter(56));
    EXPECT_TRUE(isDueAfter(2));
    EXPECT_TRUE(cut_.isStandstill()) << "the next attempt may do better";
    const std::string sentence =
        "rank0 is in the step behind 200 and has not connected to the feed again for 56.0 s, and "
        "rank1 waits for data after step 200: none of them can go on";
    EXPECT_EQ(cut_.event(), sentence + ": its gang is ended");
    EXPECT_EQ(told().errors["rank0"], sentence);
}

TEST_F(HeldUpTest, AFeedThatWaitsForNobodyIsSlowOrPaused) {
    EXPECT_FALSE(isDueAfter(3'600, -1));
}

TEST_F(HeldUpTest, ARankThatComesAgainInTimeHoldsNobodyUp) {
    for (int i = 0; i < 5; ++i) {
        EXPECT_FALSE(isDueAfter(50));
        EXPECT_FALSE(isDueAfter(1, -1));
    }
}

TEST_F(HeldUpTest, ALongCheckpointOrEvaluationOfTheAwaitedRankIsItsOwn) {
    EXPECT_FALSE(isDueAfter(1'000, 0, rank::Progress{.step = 200, .phase = "checkpoint"}));
    EXPECT_FALSE(isDueAfter(1'000, 0, rank::Progress{.step = 200, .phase = "evaluating"}));
    EXPECT_FALSE(isDueAfter(1'000, 0, rank::Progress{.step = 200, .phase = "ending"}));
}

TEST_F(HeldUpTest, ARankThatWaitsForDataItselfConnectsAgain) {
    EXPECT_FALSE(
        isDueAfter(1'000, 0, rank::Progress{.step = 200, .phase = "waiting", .waitingMs = 60'000}));
}

TEST_F(HeldUpTest, RanksThatStillTakeStepsAreLeftAlone) {
    for (std::int64_t step = 201; step < 240; ++step) {
        EXPECT_FALSE(isDueAfter(30, 0, rank::Progress{.step = step}));
    }
}

TEST_F(HeldUpTest, TimeInWhichTheNodeOfARankIsAwayDoesNotCount) {
    EXPECT_FALSE(isDueAfter(50));
    for (int second = 0; second < 60; ++second) {
        clock_.advanceMs(1'000);
        health_.heard(feed_, {0, 1, rank::Alive{"", 0}});
        (void)health_.look({"rank0"});
    }
    EXPECT_FALSE(isDueAfter(5)) << "it is to connect again first";
}

TEST_F(GangTerminationTest, RanksThatDoNotLeaveEndItAndWhoWasDoneIsNotBlamed) {
    for (int rank : {0, 1}) {
        say(rank, rank::Progress{.step = 3, .phase = "ending"});
    }
    for (int second = 0; second < 1'800; ++second) {
        clock_.advanceMs(1'000);
        (void)health_.look();
    }
    EXPECT_TRUE(isDue(view()));
    EXPECT_THAT(told().cutReason, HasSubstr("has not left 30 m"));
    say(0, rank::Done{.step = 3});
    say(1, rank::Done{.step = 3});
    for (int second = 0; second < 1'800; ++second) {
        clock_.advanceMs(1'000);
        (void)health_.look();
    }
    EXPECT_TRUE(isDue(view()));
    EXPECT_EQ(told().cutReason, "");
}

TEST_F(GangTerminationTest, AFeedOutlivesItsRanksForAMoment) {
    GangView lingers = view();
    lingers.stage = Stage::kLingering;
    lingers.stageNs = 4 * kSecond;
    EXPECT_FALSE(isDue(lingers));
    lingers.stageNs = 5 * kSecond;
    EXPECT_TRUE(isDue(lingers));
    EXPECT_EQ(cut_.event(), "");
    lingers.stageNs = 0;
    done_.say("rank0", {});
    EXPECT_TRUE(isDue(lingers)) << "a script's ranks leave where they like";
    spec_->command.clear();
    EXPECT_FALSE(isDue(lingers)) << "a rank of the built-in trainer is not done";
    done_.say("rank1", {});
    EXPECT_TRUE(isDue(lingers)) << "nobody comes back to the feed";
}

}  // namespace
}  // namespace millrace::agent
