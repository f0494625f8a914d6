// Whether workers make progress, judged by their reports: first the decisions alone, then with a
// clock.
#include "daemon/agent/run/standstill.h"

#include <cmath>
#include <ctime>
#include <limits>

#include "daemon/agent/run/run_health.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kSecond = 1'000'000'000;

/// A rank that made progress and reported it at second 100.
WorkerSigns aRank() {
    WorkerSigns rank;
    rank.worker = "rank0";
    rank.hasSaidHello = rank.promisesAlive = rank.hasWorked = true;
    rank.sinceNs = 1 * kSecond;
    rank.heardNs = rank.workedNs = 100 * kSecond;
    rank.step = 240;
    return rank;
}

WorkerSigns aFeed() {
    WorkerSigns feed;
    feed.worker = "feed";
    feed.isRank = false;
    feed.hasSaidHello = feed.promisesAlive = true;
    feed.sinceNs = 1 * kSecond;
    feed.heardNs = feed.workedNs = 100 * kSecond;
    return feed;
}

std::vector<Standing> standings(const std::vector<WorkerSigns>& workers, std::int64_t second) {
    std::vector<Standing> all;
    for (const Standstill& still : findStandstills(workers, second * kSecond)) {
        all.push_back(still.standing);
    }
    return all;
}

TEST(Standstill, AProcessThatSaysNothingForTenSecondsIsSilent) {
    EXPECT_THAT(standings({aRank()}, 109), IsEmpty());
    EXPECT_THAT(standings({aRank()}, 110), ElementsAre(Standing::kSilent));
    EXPECT_EQ(findStandstills({aRank()}, 130 * kSecond).front().sinceNs, 100 * kSecond);
}

TEST(Standstill, AProcessThatLivesAndDoesNotGetOnIsHung) {
    WorkerSigns rank = aRank();
    rank.heardNs = 112 * kSecond;
    EXPECT_THAT(standings({rank}, 111), IsEmpty());
    EXPECT_THAT(standings({rank}, 112), ElementsAre(Standing::kHung));
}

TEST(Standstill, AScriptIsNamedWhenItTakesNoStepForLongAndWhenItsProcessIsSilent) {
    const StandstillLimits limits = scriptLimits(1'800 * kSecond, 1'800 * kSecond);
    WorkerSigns rank = aRank();
    const auto standing = [&](std::int64_t second) {
        const auto found = findStandstills({rank}, second * kSecond, limits);
        return found.empty() ? Standing::kMoves : found.front().standing;
    };
    EXPECT_EQ(standing(110), Standing::kSilent);
    rank.heardNs = 1'899 * kSecond;
    EXPECT_EQ(standing(1'899), Standing::kMoves);
    EXPECT_EQ(standing(1'900), Standing::kHung);
    rank.heardNs = rank.workedNs = 200 * kSecond;
    rank.waitsSinceNs = 100 * kSecond;
    EXPECT_EQ(standing(200), Standing::kStarved) << "waiting for data is told as ever";
}

TEST(Standstill, WorkThatTakesLongIsGivenItsTime) {
    WorkerSigns rank = aRank();
    rank.steps.slowestNs = 4 * kSecond;
    rank.heardNs = 120 * kSecond;
    EXPECT_THAT(standings({rank}, 119), IsEmpty()) << "five times the slowest so far";
    EXPECT_THAT(standings({rank}, 120), ElementsAre(Standing::kHung));
    rank.isWritingCheckpoint = true;
    EXPECT_THAT(standings({rank}, 120), IsEmpty());
    rank.heardNs = 160 * kSecond;
    EXPECT_THAT(standings({rank}, 160), ElementsAre(Standing::kHung));
    rank.isWritingCheckpoint = false;
    rank.hasWorked = false;
    rank.steps.slowestNs = 0;
    EXPECT_THAT(standings({rank}, 159), IsEmpty()) << "it builds its model";
}

TEST(Standstill, ARankThatWaitsForAFeedThatGivesNothingIsStarved) {
    WorkerSigns rank = aRank(), feed = aFeed();
    rank.heardNs = rank.workedNs = feed.heardNs = 112 * kSecond;
    rank.waitsSinceNs = 100 * kSecond;
    EXPECT_THAT(standings({feed, rank}, 112), ElementsAre(Standing::kStarved));
    feed.rowsReadPerSecond = 5'000;
    feed.rowsReadNs = 111 * kSecond;
    EXPECT_THAT(standings({feed, rank}, 112), IsEmpty()) << "it fills a segment";
    rank.heardNs = rank.workedNs = feed.heardNs = feed.rowsReadNs = 160 * kSecond;
    EXPECT_THAT(standings({feed, rank}, 160), ElementsAre(Standing::kStarved));
}

TEST(Standstill, AStoppedFeedIsNamedInsteadOfTheRankThatWaitsForIt) {
    WorkerSigns rank = aRank(), feed = aFeed();
    rank.heardNs = rank.workedNs = 115 * kSecond;
    rank.waitsSinceNs = 101 * kSecond;
    const auto found = findStandstills({feed, rank}, 115 * kSecond);
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(found[0].worker, "feed");
    EXPECT_EQ(found[0].standing, Standing::kSilent);
    rank.workedNs = 100 * kSecond;  // it opens a stream and waits for an answer
    EXPECT_THAT(standings({feed, rank}, 115), ElementsAre(Standing::kSilent));
}

TEST(Standstill, AWorkerThatNeverSaidHelloIsNamedAfterHalfAMinute) {
    WorkerSigns rank = aRank();
    rank.hasSaidHello = rank.promisesAlive = false;
    EXPECT_THAT(standings({rank}, 30), IsEmpty());
    EXPECT_THAT(standings({rank}, 31), ElementsAre(Standing::kUnheard));
}

TEST(Standstill, OfAWorkerThatIsDoneNothingMoreIsExpected) {
    WorkerSigns rank = aRank();
    rank.hasSaidDone = true;
    rank.heardNs = 500 * kSecond;
    EXPECT_THAT(standings({rank}, 500), IsEmpty());
    EXPECT_THAT(standings({rank}, 5'000), IsEmpty()) << "how its process leaves is its own";
}

TEST(Standstill, ARankAtItsEndIsNeverSilentHungOrWaiting) {
    WorkerSigns rank = aRank();
    rank.isEnding = true;
    rank.waitsSinceNs = 100 * kSecond;
    EXPECT_THAT(standings({rank}, 1'000), IsEmpty());
    rank.heardNs = 1'000 * kSecond;
    EXPECT_THAT(standings({rank}, 1'000), IsEmpty());
    EXPECT_THAT(standings({aFeed(), rank}, 1'000), ElementsAre(Standing::kSilent))
        << "the feed's own silence is told";
}

TEST(Standstill, ARankAtItsEndIsLateWhenItReportedNothingForLong) {
    const StandstillLimits limits = scriptLimits(60 * kSecond, 600 * kSecond);
    WorkerSigns rank = aRank();
    const auto late = [&](std::int64_t second) {
        return findLateRank({aFeed(), rank}, second * kSecond, limits);
    };
    EXPECT_FALSE(late(5'000).has_value()) << "it trains, however slowly";
    rank.isEnding = true;
    EXPECT_FALSE(late(699).has_value());
    ASSERT_TRUE(late(700).has_value());
    EXPECT_EQ(late(700)->worker, "rank0");
    EXPECT_FALSE(late(700)->hasSaidDone);
    EXPECT_THAT(late(700)->sentence,
                HasSubstr("after its stream was at its end (train.exit_minutes)"));
    rank.workedNs = 500 * kSecond;  // a metric, a checkpoint
    EXPECT_FALSE(late(1'099).has_value());
    rank.hasSaidDone = true;
    EXPECT_TRUE(late(1'100)->hasSaidDone);
    WorkerSigns other = aRank();
    other.worker = "rank1";
    const auto lateOfTwo = [&](std::int64_t second) {
        return findLateRank({rank, other}, second * kSecond, limits);
    };
    EXPECT_FALSE(lateOfTwo(5'000).has_value()) << "it waits for one that trains";
    other.isEnding = true;
    other.workedNs = 4'900 * kSecond;
    EXPECT_FALSE(lateOfTwo(5'000).has_value()) << "both have their time from then on";
    EXPECT_EQ(lateOfTwo(5'500)->worker, "rank1") << "rank1 has not reported how it ended";
    EXPECT_FALSE(lateOfTwo(5'500)->hasSaidDone);
    rank.workedNs = 500 * kSecond;
    rank.hasSaidError = true;
    EXPECT_FALSE(late(619).has_value());
    EXPECT_THAT(late(620)->sentence, HasSubstr("after it told its error"));
    EXPECT_EQ(lateOfTwo(620)->worker, "rank0") << "whatever the others do";
}

TEST(Standstill, AWorkerOfBeforeThatPromisesNothingIsJudgedByItsWorkAlone) {
    WorkerSigns rank = aRank();
    rank.promisesAlive = false;
    EXPECT_THAT(standings({rank}, 111), IsEmpty());
    EXPECT_THAT(standings({rank}, 112), ElementsAre(Standing::kHung));
}

TEST(Standstill, TheSentenceSaysWhoWhereAndWhy) {
    WorkerSigns rank = aRank(), feed = aFeed();
    const Standstill silent{"rank0", Standing::kSilent, 0};
    EXPECT_EQ(describe(silent, {rank}, 'T'),
              "rank0 stands still after step 240: its process is stopped (SIGSTOP)");
    EXPECT_THAT(describe(silent, {rank}, 'D'), HasSubstr("waits for a disk"));
    EXPECT_THAT(describe({"rank0", Standing::kHung, 0}, {rank}, 'S'),
                HasSubstr("its process lives, its training thread does not get on"));
    feed.rowsReadPerSecond = 12'000;
    EXPECT_EQ(describe({"rank0", Standing::kStarved, 0}, {feed, rank}, 'S'),
              "rank0 waits for data after step 240: the feed reads 12,000 rows/s and gives none");
}

/// A rank and a feed that report once a second that they live; the test moves the clock.
class HealthTest : public ::testing::Test {
 protected:
    HealthTest() : health_(clock_, [this](int) { return process_; }) {
        engines::State state;
        for (const char* name : {"feed", "rank0"}) {
            engines::WorkerState worker;
            worker.name = name;
            worker.rank = std::string(name) == "rank0" ? 0 : -1;
            worker.isStarted = true;
            worker.pid = 7;
            state.workers.push_back(worker);
        }
        health_.setWorkers(state);
        health_.hello(senderOf("feed"));
        health_.hello(senderOf("rank"));
    }
    static rank::Sender senderOf(const std::string& role, std::int64_t aliveMs = 1'000) {
        return {"r-abc23", 1, role, 0, 7, aliveMs};
    }
    void say(const std::string& role, rank::Body body) {
        health_.heard(senderOf(role), {0, 1, std::move(body)});
    }
    /// Lets seconds pass in which the feed lives, and the rank lives and takes steps as told.
    std::vector<std::string> pass(int seconds, bool rankLives = true, bool rankSteps = true) {
        std::vector<std::string> news;
        for (int i = 0; i < seconds; ++i) {
            clock_.advanceMs(1'000);
            say("feed", rank::Alive{});
            if (rankLives) {
                say("rank", rank::Alive{trouble_});
            }
            if (rankLives && rankSteps) {
                say("rank", rank::Progress{++step_, 0, step_ * 10, 0, "training", {1}});
            }
            const auto some = health_.look();
            news.insert(news.end(), some.begin(), some.end());
        }
        return news;
    }
    FakeClock clock_;
    char process_ = 'S';
    std::string trouble_;
    std::int64_t step_ = 0;
    RunHealth health_;
};

TEST_F(HealthTest, AStoppedRankIsNamedWithinFifteenSecondsAndSoIsItsGoingOn) {
    EXPECT_THAT(pass(30), IsEmpty());
    process_ = 'T';
    const std::int64_t stoppedMs = clock_.wallMs();
    EXPECT_THAT(pass(15, false),
                ElementsAre("rank0 stands still after step 30: its process is stopped (SIGSTOP), "
                            "for 10.0 s"));
    EXPECT_EQ(health_.standsSinceMs(), stoppedMs);
    EXPECT_EQ(health_.trouble(),
              "rank0 stands still after step 30: its process is stopped (SIGSTOP)");
    EXPECT_EQ(health_.standingOf("rank0"), "stopped");
    EXPECT_THAT(pass(105, false), IsEmpty()) << "told once";
    process_ = 'S';
    EXPECT_THAT(pass(1), ElementsAre("rank0 goes on after 2 m 01 s"));
    EXPECT_EQ(health_.standsSinceMs(), 0);
    EXPECT_EQ(health_.trouble(), "");
    EXPECT_EQ(health_.standingOf("rank0"), "");
}

std::int64_t threadCpuNs() {
    timespec time{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return time.tv_sec * kSecond + time.tv_nsec;
}

/// Processor time of 40,000 lines from `ranks` ranks, the least of three times.
std::int64_t costOfLines(RunHealth& health, int ranks) {
    constexpr int kLines = 40'000, kTimes = 3;
    engines::State state;
    for (int rank = 0; rank < ranks; ++rank) {
        engines::WorkerState worker;
        worker.name = strCat("rank", rank);
        worker.rank = rank;
        worker.isStarted = worker.isCritical = true;
        state.workers.push_back(worker);
    }
    health.setWorkers(state);
    std::int64_t least = INT64_MAX;
    for (int time = 0; time < kTimes; ++time) {
        const std::int64_t before = threadCpuNs();
        for (int line = 0; line < kLines; ++line) {
            health.heard({"r-abc23", 1, "rank", line % ranks, 7, 1'000}, {0, 1, rank::Alive{}});
        }
        least = std::min(least, threadCpuNs() - before);
    }
    return least;
}

TEST_F(HealthTest, ALineCostsTheSameHoweverManyRanksThereAre) {
    const std::int64_t few = costOfLines(health_, 100);
    EXPECT_LT(costOfLines(health_, 4'000), 5 * few);
}

TEST_F(HealthTest, ARankWhoseNodeIsAwayIsNotSaidToStandStill) {
    EXPECT_THAT(pass(5), IsEmpty());
    for (int second = 0; second < 60; ++second) {
        clock_.advanceMs(1'000);
        say("feed", rank::Alive{});
        EXPECT_THAT(health_.look({"rank0"}), IsEmpty());
    }
    EXPECT_FALSE(health_.silentRank(1).has_value());
    EXPECT_THAT(pass(9, false), IsEmpty()) << "it has its time once the node is back";
    EXPECT_EQ(pass(3, false).size(), 1U);
}

TEST_F(HealthTest, ARankThatIsEndingTakesItsTimeWithoutAWord) {
    EXPECT_THAT(pass(5), IsEmpty());
    say("rank", rank::Progress{5, 0, 50, 5, "ending", 1, 0, 0});
    say("rank", rank::Checkpoint{5, "c", 1, "h", "{}"});
    say("rank", rank::Progress{5, 0, 50, 5, "checkpoint", 1, 0, 0});
    EXPECT_THAT(pass(1'799, false), IsEmpty());
    EXPECT_EQ(health_.trouble(), "");
    EXPECT_FALSE(health_.silentRank(1).has_value());
    EXPECT_FALSE(health_.lateRank().has_value());
    EXPECT_THAT(pass(1, false), IsEmpty());
    EXPECT_EQ(health_.lateRank()->worker, "rank0");
    health_.restart();
    EXPECT_FALSE(health_.lateRank().has_value());
}

TEST_F(HealthTest, EachRankSaysWhatItDoesAndWhichOneStands) {
    engines::State gang;
    for (int rank : {1, 0}) {
        engines::WorkerState worker;
        worker.name = "rank" + std::to_string(rank);
        worker.rank = rank;
        worker.isStarted = true;
        gang.workers.push_back(worker);
    }
    health_.setWorkers(gang);
    rank::Sender other = senderOf("rank");
    other.rank = 1;
    health_.hello(other);
    const auto sayOther = [&](rank::Body body) { health_.heard(other, {0, 1, std::move(body)}); };
    sayOther(rank::Progress{4, 0, 40, 0, "waiting", {70, 30}, 5});
    sayOther(rank::Metrics{5, 0, 50, 1, {{"rank.step_ms", 20}, {"rank.wait_ms", 6}}});
    const std::int64_t saidMs = clock_.wallMs();
    pass(12);  // in which only rank 0 reports something
    const std::vector<values::RankNow> ranks = health_.ranks(gang);
    ASSERT_EQ(ranks.size(), 2U);
    EXPECT_EQ(ranks[0].rank, 0);
    EXPECT_EQ(ranks[0].step, 12);
    EXPECT_EQ(ranks[0].state, "running");
    EXPECT_EQ(ranks[0].trouble, "");
    EXPECT_FALSE(ranks[0].stepMs.has_value()) << "what it has not said is not known";
    const values::RankNow expected{1,
                                   "silent",
                                   "rank1 stands still after step 5: its process says "
                                   "nothing",
                                   saidMs,
                                   values::Phase::kWaiting,
                                   5,
                                   values::PhaseTimes{70, 30},
                                   std::nullopt,
                                   saidMs,
                                   20,
                                   30,
                                   saidMs};
    EXPECT_EQ(ranks[1], expected);
    health_.restart();
    EXPECT_EQ(health_.ranks(gang)[1].step, 0) << "a new attempt starts from zero";
}

TEST_F(HealthTest, AHungTrainingThreadIsToldFromAStoppedProcess) {
    (void)pass(30);
    const auto news = pass(15, true, false);
    ASSERT_EQ(news.size(), 1u);
    EXPECT_THAT(news[0], HasSubstr("its process lives, its training thread does not get on"));
    EXPECT_EQ(health_.standingOf("rank0"), "hung");
    EXPECT_THAT(pass(1), ElementsAre(HasSubstr("rank0 goes on after")));
}

TEST_F(HealthTest, WhatAStoppedProcessLostIsNoHang) {
    (void)pass(30);
    EXPECT_EQ(pass(60, false).size(), 1u);
    EXPECT_THAT(pass(12, true, false), ElementsAre("rank0 goes on after 1 m 01 s"))
        << "its thread of signs is heard first";
    const auto news = pass(1, true, false);
    ASSERT_EQ(news.size(), 1u) << "now it is";
    EXPECT_THAT(news[0], HasSubstr("its training thread does not get on"));
}

TEST_F(HealthTest, WhatARankLostByAStoppedFeedIsNoHang) {
    (void)pass(5);
    std::vector<std::string> news;
    for (int second = 0; second < 40; ++second) {
        clock_.advanceMs(1'000);
        say("rank", rank::Alive{});
        const auto some = health_.look();
        news.insert(news.end(), some.begin(), some.end());
    }
    EXPECT_THAT(news, ElementsAre(HasSubstr("feed stands still: its process says nothing")));
    EXPECT_THAT(pass(11, true, false), ElementsAre(HasSubstr("feed goes on after")));
}

TEST_F(HealthTest, ALongStandstillDoesNotHideTheNext) {
    (void)pass(5);
    EXPECT_EQ(pass(100, true, false).size(), 1u);
    (void)pass(5);
    EXPECT_EQ(pass(36, true, false).size(), 1u) << "three times the limit that it had";
}

TEST_F(HealthTest, MicroBatchesOfFifteenSecondsAreCalledHungOnce) {
    (void)pass(5);
    EXPECT_THAT(pass(14, true, false), ElementsAre(HasSubstr("does not get on")));
    EXPECT_THAT(pass(1), ElementsAre(HasSubstr("rank0 goes on after")));
    for (int i = 0; i < 20; ++i) {
        EXPECT_THAT(pass(14, true, false), IsEmpty());
        EXPECT_THAT(pass(1), IsEmpty());
    }
}

TEST_F(HealthTest, MicroBatchesOfMinutesAreSoonTakenForWork) {
    (void)pass(5);
    std::size_t told = 0;
    for (int i = 0; i < 20; ++i) {
        told += pass(119, true, false).size() + pass(1).size();
    }
    EXPECT_EQ(told, 6u) << "three standstills and their ends: 12, 36 and 108 seconds";
}

TEST_F(HealthTest, CheckpointsOfMoreThanAMinuteAreCalledHungOnceAndHideNoHangBesides) {
    (void)pass(5);
    for (int i = 0; i < 5; ++i) {
        say("rank", rank::Progress{step_, 0, step_ * 10, 0, "checkpoint", {1}});
        const std::size_t told = pass(75, true, false).size() + pass(5).size();
        EXPECT_EQ(told, i == 0 ? 2u : 0u);
    }
    EXPECT_EQ(pass(13, true, false).size(), 1u) << "its training keeps the earlier limit";
}

TEST_F(HealthTest, ACheckpointThatWaitsForTheWriteOfAnEarlierOneIsNotCalledHung) {
    (void)pass(5);
    say("rank", rank::Progress{step_, 0, step_ * 10, 0, "checkpoint", {1}});
    EXPECT_THAT(pass(25, true, false), IsEmpty()) << "the earlier one is written";
    say("rank", rank::Checkpoint{step_ - 1, "step-1.safetensors", 900, "", ""});
    EXPECT_THAT(pass(25, true, false), IsEmpty());
}

TEST_F(HealthTest, ARankThatWaitsSaysSoItself) {
    (void)pass(3);
    std::vector<std::string> news;
    for (int second = 1; second <= 13; ++second) {
        say("rank", rank::Progress{3, 0, 30, 0, "waiting", {1}, 1'000.0 * second});
        const auto some = pass(1, true, false);
        news.insert(news.end(), some.begin(), some.end());
    }
    ASSERT_EQ(news.size(), 1u);
    EXPECT_THAT(news[0], HasSubstr("rank0 waits for data after step 3: the feed lives, reads "
                                   "nothing and gives nothing"));
    EXPECT_EQ(health_.standingOf("rank0"), "waiting");
}

TEST_F(HealthTest, TimeInWhichTheDaemonItselfStoodStillDoesNotCount) {
    (void)pass(30);
    clock_.advanceMs(600'000);
    EXPECT_THAT(health_.look(), IsEmpty());
    EXPECT_THAT(pass(9, false), IsEmpty());
    EXPECT_EQ(pass(2, false).size(), 1u);
}

TEST_F(HealthTest, AWorkersTroubleIsToldWhenItComesAndWhenItGoes) {
    (void)pass(3);
    trouble_ = "the checkpoint of step 40 was not written: no space left on device";
    EXPECT_THAT(pass(5), ElementsAre("rank0: " + trouble_));
    const std::string first = trouble_;
    trouble_ = "the checkpoint of step 80 was not written: no space left on device";
    EXPECT_THAT(pass(5), IsEmpty()) << "the same trouble still";
    EXPECT_THAT(health_.trouble(), HasSubstr("step 80"));
    trouble_.clear();
    EXPECT_THAT(pass(1), ElementsAre("no longer: rank0: " + first));
    EXPECT_EQ(health_.trouble(), "");
}

TEST_F(HealthTest, TheFirstLossThatIsNotFiniteIsReportedOnce) {
    const double nan = std::nan(""), infinity = std::numeric_limits<double>::infinity();
    const auto report = [&](rank::Values values) {
        say("rank", rank::Metrics{++step_, 0, step_ * 10, 0, std::move(values)});
    };
    report({{"loss", 0.7}, {"gradient_norm", nan}});
    report({{"loss", 0.7}, {"loss.click", nan}, {"eval.log_loss", nan}});
    report({{"loss", nan}, {"steps_without_weight", 1}});
    EXPECT_THAT(pass(1), IsEmpty()) << "they may be NaN in a training that is right";
    step_ = 11;
    report({{"train_loss", infinity}});
    report({{"train_loss", nan}});
    const std::string sentence = "rank0: train_loss became infinite at step 12";
    EXPECT_THAT(pass(1), ElementsAre(sentence));
    report({{"train_loss", nan}});
    report({{"train_loss", 0.5}});
    EXPECT_THAT(pass(1), IsEmpty());
    EXPECT_EQ(health_.trouble(), sentence);
}

TEST_F(HealthTest, ASentenceOfAnyLengthIsCutBetweenTwoCharacters) {
    for (int i = 0; i < 1'000; ++i) {
        trouble_ += "ä";
    }
    trouble_.insert(0, "x");
    (void)pass(1);
    EXPECT_LT(health_.trouble().size(), 1'100u);
    EXPECT_THAT(health_.trouble(), ::testing::EndsWith("ä ..."));
}

TEST_F(HealthTest, AWorkerThatHasEndedIsNotMissed) {
    (void)pass(3);
    engines::State state;
    engines::WorkerState rank;
    rank.name = "rank0";
    rank.rank = 0;
    rank.isStarted = true;
    rank.exitCode = 0;
    state.workers.push_back(rank);
    health_.setWorkers(state);
    say("rank", rank::Metrics{9, 0, 90, 0, {}});
    EXPECT_THAT(pass(200, false), IsEmpty());
}

TEST_F(HealthTest, AGuardianThatIsSilentIsATroubleUntilItAnswers) {
    (void)pass(3);
    engines::State state;
    engines::WorkerState rank;
    rank.name = "rank0";
    rank.rank = 0;
    rank.isStarted = true;
    rank.isSilent = true;
    state.workers.push_back(rank);
    health_.setWorkers(state);
    EXPECT_THAT(pass(3), ElementsAre(HasSubstr("the guardian of rank0 does not answer")))
        << "told once, though the rank itself lives and gets on";
    EXPECT_THAT(health_.trouble(), HasSubstr("the guardian of rank0 does not answer"));
    EXPECT_EQ(health_.standsSinceMs(), 0);
    state.workers[0].isSilent = false;
    health_.setWorkers(state);
    EXPECT_THAT(pass(1), ElementsAre(HasSubstr("no longer: the guardian of rank0")));
    EXPECT_EQ(health_.trouble(), "");
    state.workers[0].isSilent = true;
    health_.setWorkers(state);
    state.workers[0].exitCode = 137;
    health_.setWorkers(state);
    EXPECT_EQ(health_.trouble(), "") << "a worker that has ended has no guardian";
}

TEST(ProcessState, IsTheKernelsLetter) {
    EXPECT_EQ(processStateOf(::getpid()), 'R');
    EXPECT_EQ(processStateOf(0), '\0');
}

// Through the controller, as the daemon does.

TEST_F(AgentTest, ARunWhoseRankStandsStillSaysSoInItsHistoryAndItsSummary) {
    const std::string id = submit();
    rank::Sender alive = sender(id, 1);
    alive.aliveMs = 1'000;
    door(id)->listener.onHello(1, alive);
    say(id, 1, rank::Progress{5, 0, 50, 100, "training", {1}});
    EXPECT_EQ(live.get(id).trouble, "");
    controller->post(id + ".a1", engine.states[id + ".a1"]);
    for (int i = 0; i < 11; ++i) {
        clock.advanceMs(1'000);
        controller->drain();
    }
    const values::RunSummary run = service->get(id)->summary;
    EXPECT_THAT(run.trouble, HasSubstr("rank0 stands still after step 5"));
    EXPECT_GT(run.standsSinceMs, 0);
    ASSERT_EQ(run.ranks.size(), 1U);
    EXPECT_THAT(run.ranks[0].trouble, HasSubstr("rank0 stands still after step 5"));
    EXPECT_EQ(run.ranks[0].standsSinceMs, run.standsSinceMs);
    const auto events = service->get(id)->events;
    EXPECT_TRUE(std::any_of(events.begin(), events.end(), [](const values::RunEvent& event) {
        return event.text.find("rank0 stands still after step 5") != std::string::npos;
    }));
    door(id)->listener.onLine(1, alive, {0, 1, rank::Alive{}});
    say(id, 2, rank::Progress{6, 0, 60, 100, "training", {1}});
    EXPECT_EQ(live.get(id).trouble, "");
    EXPECT_EQ(live.get(id).standsSinceMs, 0);
    EXPECT_THAT(service->get(id)->events.back().text, HasSubstr("rank0 goes on after"));
}

TEST_F(AgentTest, ASignOfLifeIsNeitherStoredNorAcknowledged) {
    const std::string id = submit();
    hello(id);
    for (int i = 0; i < 50; ++i) {
        say(id, 0, rank::Alive{});
    }
    EXPECT_TRUE(door(id)->acks.empty());
    EXPECT_EQ(store->ackedSeq(id, 1, "rank0").value(), 0);
    say(id, 1, rank::Metrics{1, 0, 10, 0, {{"loss", 0.5}}});
    EXPECT_EQ((door(id)->acks.at({1, 1})), 1u);
}

}  // namespace
}  // namespace millrace::agent
