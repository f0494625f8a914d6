#include "backend/stream/stream_master.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::stream {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Hand = StreamMaster::Hand;

constexpr std::int64_t kMs = 1'000'000;
constexpr std::int64_t kSecond = 1'000 * kMs;

/// A master with segments 0, 1, ... of one file each, and a time that the test moves.
class StreamMasterTest : public ::testing::Test {
 protected:
    StreamMaster& master(const StreamMaster::Options& options = {}) {
        return master_.emplace(options);
    }
    void add(std::int64_t from, std::int64_t to) {
        for (std::int64_t number = from; number < to; ++number) {
            const std::uint32_t file = static_cast<std::uint32_t>(number);
            master_->add(number, {&file, 1});
        }
    }
    WorkerId join(const std::string& name, int places = 2) {
        const WorkerId id = master_->join(name, places, 1, nowNs_);
        present_.insert(id);
        return id;
    }
    StreamMaster::Decisions decide() { return master_->decide(nowNs_); }
    /// Lets time pass in steps like those of a feed's loop, while all workers except `silent`
    /// report.
    StreamMaster::Decisions pass(std::int64_t ns, WorkerId silent = 0) {
        StreamMaster::Decisions all;
        for (const std::int64_t end = nowNs_ + ns; nowNs_ < end;) {
            nowNs_ += 100 * kMs;
            for (const WorkerId id : present_) {
                if (id != silent) {
                    master_->report(id, 2, nowNs_);
                }
            }
            StreamMaster::Decisions now = decide();
            all.orders.insert(all.orders.end(), now.orders.begin(), now.orders.end());
            all.here.insert(all.here.end(), now.here.begin(), now.here.end());
            all.silent.insert(all.silent.end(), now.silent.begin(), now.silent.end());
            all.deadly.insert(all.deadly.end(), now.deadly.begin(), now.deadly.end());
        }
        return all;
    }
    void lose(WorkerId id, StreamMaster::Loss loss) {
        present_.erase(id);
        master_->lose(id, loss);
    }

    std::optional<StreamMaster> master_;
    std::int64_t nowNs_ = 5 * kSecond;
    std::set<WorkerId> present_;
};

TEST_F(StreamMasterTest, SegmentsAreGivenForemostFirstToFreePlaces) {
    master();
    add(0, 5);
    EXPECT_THAT(decide().orders, IsEmpty());
    const WorkerId a = join("a"), b = join("b");
    EXPECT_EQ(master_->room(), 0);
    EXPECT_THAT(decide().orders,
                ElementsAre(Hand{a, 0, 0}, Hand{b, 1, 0}, Hand{a, 2, 0}, Hand{b, 3, 0}));
    EXPECT_TRUE(master_->done({a, 0, 0}, nowNs_));
    EXPECT_THAT(decide().orders, IsEmpty()) << "it holds the frames still";
    master_->delivered(0);
    EXPECT_THAT(decide().orders, ElementsAre(Hand{a, 4, 0}));
}

TEST_F(StreamMasterTest, AWorkerGetsWhatItReadTheFilesOf) {
    master();
    const WorkerId a = join("a"), b = join("b");
    add(0, 2);
    decide();
    master_->done({a, 0, 0}, nowNs_);
    master_->done({b, 1, 0}, nowNs_);
    master_->delivered(0);
    master_->delivered(1);
    const std::uint32_t file = 1;
    master_->add(2, {&file, 1});
    EXPECT_THAT(decide().orders, ElementsAre(Hand{b, 2, 0}));
}

TEST_F(StreamMasterTest, AFilesSegmentsGoToWhoeverHasNothingToDo) {
    master();
    const WorkerId a = join("a"), b = join("b");
    const std::uint32_t file = 0;
    for (std::int64_t number = 0; number < 4; ++number) {
        master_->add(number, {&file, 1});
    }
    EXPECT_THAT(decide().orders,
                ElementsAre(Hand{a, 0, 0}, Hand{b, 1, 0}, Hand{a, 2, 0}, Hand{b, 3, 0}));
}

TEST_F(StreamMasterTest, WhatADeadWorkerHadGoesFirst) {
    master();
    const WorkerId a = join("a");
    add(0, 4);
    decide();
    master_->done({a, 0, 0}, nowNs_);
    lose(a, StreamMaster::Loss::kDied);
    const WorkerId b = join("b");
    EXPECT_THAT(decide().orders, ElementsAre(Hand{b, 0, 1}, Hand{b, 1, 1}));
}

TEST_F(StreamMasterTest, AnAnswerOfAnotherGenerationOrWorkerIsRefused) {
    master();
    const WorkerId a = join("a");
    add(0, 1);
    decide();
    EXPECT_FALSE(master_->done({a, 0, 1}, nowNs_));
    EXPECT_FALSE(master_->done({a + 1, 0, 0}, nowNs_));
    EXPECT_FALSE(master_->done({a, 7, 0}, nowNs_));
    EXPECT_FALSE(master_->holds({a, 0, 0}));
    EXPECT_TRUE(master_->done({a, 0, 0}, nowNs_));
    EXPECT_FALSE(master_->done({a, 0, 0}, nowNs_)) << "twice";
    EXPECT_TRUE(master_->holds({a, 0, 0}));
}

TEST_F(StreamMasterTest, ASilentWorkerIsLostAfterTwoSeconds) {
    master();
    const WorkerId a = join("a");
    add(0, 1);
    decide();
    EXPECT_THAT(pass(2 * kSecond, a).silent, IsEmpty());
    EXPECT_THAT(pass(200 * kMs, a).silent, ElementsAre(a));
    EXPECT_FALSE(master_->done({a, 0, 0}, nowNs_));
}

TEST_F(StreamMasterTest, AJumpOfTheClockLosesNobody) {
    master();
    const WorkerId a = join("a");
    add(0, 1);
    decide();
    nowNs_ += 3600 * kSecond;
    EXPECT_THAT(decide().silent, IsEmpty());
    nowNs_ -= 7200 * kSecond;
    EXPECT_THAT(decide().silent, IsEmpty());
    EXPECT_TRUE(master_->done({a, 0, 0}, nowNs_));
}

TEST_F(StreamMasterTest, TheForemostThatIsLateGoesToASecondWorkerToo) {
    master();
    const WorkerId a = join("a"), b = join("b");
    add(0, 2);
    decide();
    pass(500 * kMs);
    master_->done({b, 1, 0}, nowNs_);
    EXPECT_THAT(pass(1400 * kMs).orders, IsEmpty());
    EXPECT_THAT(pass(300 * kMs).orders, ElementsAre(Hand{b, 0, 1}));
    EXPECT_TRUE(master_->done({b, 0, 1}, nowNs_));
    EXPECT_FALSE(master_->done({a, 0, 0}, nowNs_));
    EXPECT_THAT(decide().withdrawn, ElementsAre(Hand{a, 0, 0}));
}

TEST_F(StreamMasterTest, NoMoreThanATenthIsGivenTwice) {
    master();
    const WorkerId a = join("a", 1), b = join("b", 1);
    int seconds = 0;
    for (std::int64_t number = 0; number < 10; ++number) {
        add(number, number + 1);
        const auto orders = decide().orders;
        ASSERT_EQ(orders.size(), 1U);
        seconds += static_cast<int>(pass(40 * kSecond).orders.size());
        ASSERT_TRUE(master_->done(orders[0], nowNs_));
        master_->delivered(number);
    }
    EXPECT_EQ(seconds, 1);
    EXPECT_EQ(master_->numTwice(), 1);
    EXPECT_NE(a, b);
}

TEST_F(StreamMasterTest, TheForemostFindsAPlaceWhereNoneIsFree) {
    master();
    const WorkerId a = join("a", 1), b = join("b", 1);
    add(0, 3);
    decide();
    master_->done({b, 1, 0}, nowNs_);
    lose(a, StreamMaster::Loss::kBroken);
    EXPECT_THAT(decide().orders, ElementsAre(Hand{b, 0, 1}));
}

TEST_F(StreamMasterTest, TwoDeathsOneAfterTheOtherEndTheStreamAndNeverReachTheFeed) {
    master();
    const WorkerId a = join("a");
    add(0, 1);
    decide();
    EXPECT_TRUE(master_->started({a, 0, 0}));
    lose(a, StreamMaster::Loss::kDied);
    EXPECT_THAT(pass(4 * kSecond).here, IsEmpty()) << "another worker may come";
    const WorkerId b = join("b");
    decide();
    EXPECT_TRUE(master_->started({b, 0, 1}));
    lose(b, StreamMaster::Loss::kDied);
    const auto decisions = decide();
    ASSERT_EQ(decisions.deadly.size(), 1U);
    EXPECT_EQ(decisions.deadly[0].number, 0);
    EXPECT_THAT(decisions.deadly[0].workers, ElementsAre("a", "b"));
    EXPECT_THAT(decisions.here, IsEmpty());
    EXPECT_THAT(pass(60 * kSecond).here, IsEmpty()) << "alone, and still not";
}

TEST_F(StreamMasterTest, DeathsBesideASegmentThatWasNotBegunDoNotCount) {
    master();
    for (int turn = 0; turn < 5; ++turn) {
        const WorkerId id = join("w");
        if (turn == 0) {
            add(0, 2);
        }
        decide();
        master_->done({id, 0, static_cast<std::uint32_t>(turn)}, nowNs_);
        lose(id, StreamMaster::Loss::kDied);
    }
    EXPECT_THAT(decide().deadly, IsEmpty());
}

TEST_F(StreamMasterTest, TwoThatHadItAtOnceCountAsOneDeath) {
    master({.mostTwice = 1});
    const WorkerId a = join("a", 1), b = join("b", 1);
    add(0, 1);
    decide();
    EXPECT_TRUE(master_->started({a, 0, 0}));
    ASSERT_THAT(pass(31 * kSecond).orders, ElementsAre(Hand{b, 0, 1}));
    EXPECT_TRUE(master_->started({b, 0, 1}));
    lose(a, StreamMaster::Loss::kDied);
    EXPECT_THAT(decide().deadly, IsEmpty());
    lose(b, StreamMaster::Loss::kDied);
    EXPECT_THAT(decide().deadly, IsEmpty());
    const WorkerId c = join("c", 1);
    EXPECT_THAT(decide().orders, ElementsAre(Hand{c, 0, 2})) << "one more may try it";
    EXPECT_TRUE(master_->started({c, 0, 2}));
    join("d", 1);
    EXPECT_THAT(pass(60 * kSecond).orders, IsEmpty()) << "alone, however late it is";
    lose(c, StreamMaster::Loss::kDied);
    const auto decisions = decide();
    ASSERT_EQ(decisions.deadly.size(), 1U);
    EXPECT_THAT(decisions.deadly[0].workers, ElementsAre("a", "c", "b"));
    EXPECT_EQ(master_->numWorkers(), 1);
}

TEST_F(StreamMasterTest, TwoThatHadItAtOnceAndNobodyAfterThemEndTheStreamAndNotTheFeed) {
    for (const std::int64_t aloneNs : {5 * kSecond, std::int64_t{0}}) {
        master({.aloneNs = aloneNs});
        const WorkerId a = join("a", 1), b = join("b", 1);
        add(0, 2);
        decide();
        EXPECT_TRUE(master_->started({a, 0, 0}));
        EXPECT_TRUE(master_->done({b, 1, 0}, nowNs_));
        ASSERT_THAT(pass(31 * kSecond).orders, ElementsAre(Hand{b, 0, 1}));
        EXPECT_TRUE(master_->started({b, 0, 1}));
        lose(a, StreamMaster::Loss::kDied);
        lose(b, StreamMaster::Loss::kDied);
        const auto first = pass(14 * kSecond);
        EXPECT_THAT(first.here, ElementsAre(1)) << "on which nobody died";
        EXPECT_THAT(first.deadly, IsEmpty()) << "another worker may come";
        const auto then = pass(2 * kSecond);
        ASSERT_EQ(then.deadly.size(), 1U);
        EXPECT_THAT(then.deadly[0].workers, ElementsAre("a", "b"));
        EXPECT_THAT(then.here, IsEmpty());
    }
}

TEST_F(StreamMasterTest, OnWhichOneDiedTheFeedComputesWhereNobodyComesForAWhile) {
    master({.aloneNs = 0});
    const WorkerId a = join("a", 1);
    add(0, 1);
    decide();
    EXPECT_TRUE(master_->started({a, 0, 0}));
    lose(a, StreamMaster::Loss::kDied);
    EXPECT_THAT(pass(14 * kSecond).here, IsEmpty()) << "the daemon starts another";
    EXPECT_THAT(pass(2 * kSecond).here, ElementsAre(0));
}

TEST_F(StreamMasterTest, WhatTwoLostOtherwiseIsComputedInTheFeed) {
    master();
    for (const char* name : {"a", "b", "c"}) {
        join(name, 1);
    }
    add(0, 1);
    const Hand first = decide().orders.at(0);
    EXPECT_TRUE(master_->unable(first));
    const Hand second = decide().orders.at(0);
    EXPECT_NE(first.worker, second.worker);
    EXPECT_TRUE(master_->unable(second));
    EXPECT_THAT(decide().here, ElementsAre(0));
    EXPECT_FALSE(master_->done(second, nowNs_));
}

TEST_F(StreamMasterTest, AWorkerThatIsUnableInTurnIsSentAway) {
    master();
    const WorkerId a = join("a", 4);
    add(0, 3);
    for (const Hand& hand : decide().orders) {
        EXPECT_TRUE(master_->unable(hand));
    }
    const auto decisions = decide();
    EXPECT_THAT(decisions.unfit, ElementsAre(a));
    EXPECT_THAT(decisions.here, ElementsAre(0, 1, 2)) << "nobody else is there";
}

TEST_F(StreamMasterTest, WhoLeavesEndsWhatItBeganAndKeepsWhatItHolds) {
    master();
    const WorkerId a = join("a", 3);
    add(0, 3);
    decide();
    master_->done({a, 0, 0}, nowNs_);
    master_->started({a, 1, 0});
    master_->leave(a);
    const WorkerId b = join("b", 3);
    auto decisions = decide();
    EXPECT_THAT(decisions.withdrawn, ElementsAre(Hand{a, 2, 0}));
    EXPECT_THAT(decisions.orders, ElementsAre(Hand{b, 2, 1}));
    EXPECT_TRUE(master_->done({a, 1, 0}, nowNs_));
    master_->delivered(0);
    EXPECT_THAT(decide().farewell, IsEmpty());
    master_->delivered(1);
    EXPECT_THAT(decide().farewell, ElementsAre(a));
    EXPECT_EQ(master_->numWorkers(), 1U);
}

TEST_F(StreamMasterTest, WhatIsGivenBackGoesAgainAndIsNobodysFault) {
    master();
    const WorkerId a = join("a", 1);
    add(0, 1);
    for (std::uint32_t generation = 0; generation < 5; ++generation) {
        EXPECT_THAT(decide().orders, ElementsAre(Hand{a, 0, generation}));
        EXPECT_TRUE(master_->done({a, 0, generation}, nowNs_));
        EXPECT_TRUE(master_->gaveBack({a, 0, generation}));
        EXPECT_FALSE(master_->gaveBack({a, 0, generation}));
    }
}

TEST_F(StreamMasterTest, AloneTheFeedComputesWhatWaits) {
    master();
    const WorkerId a = join("a", 2);
    add(0, 2);
    decide();
    lose(a, StreamMaster::Loss::kDied);
    EXPECT_THAT(pass(4 * kSecond).here, IsEmpty());
    EXPECT_THAT(pass(2 * kSecond).here, ElementsAre(0, 1));
    EXPECT_TRUE(master_->isAlone());
}

// A leaving worker takes nothing and may stay for long: what only it could compute is computed
// here.
TEST_F(StreamMasterTest, ALeavingWorkerIsNoCompany) {
    master();
    const WorkerId a = join("a", 1), b = join("b", 1);
    add(0, 1);
    EXPECT_THAT(decide().orders, ElementsAre(Hand{a, 0, 0}));
    master_->done({a, 0, 0}, nowNs_);
    add(1, 2);
    EXPECT_THAT(decide().orders, ElementsAre(Hand{b, 1, 0}));
    master_->started({b, 1, 0});
    master_->done({b, 1, 0}, nowNs_);
    master_->leave(b);
    lose(a, StreamMaster::Loss::kDied);
    EXPECT_THAT(pass(4 * kSecond).here, IsEmpty());
    EXPECT_THAT(pass(2 * kSecond).here, ElementsAre(0));
}

TEST_F(StreamMasterTest, AFeedBesideWorkersComputesWithThem) {
    master();
    join("a");
    EXPECT_FALSE(master_->computesHere());
    StreamMaster::Options options;
    options.isFeedBeside = true;
    master(options);
    EXPECT_TRUE(master_->computesHere());
    const WorkerId a = join("a", 1);
    add(0, 1);
    EXPECT_THAT(decide().orders, ElementsAre(Hand{a, 0, 0})) << "the worker computes, too";
    EXPECT_TRUE(master_->computesHere());
}

TEST_F(StreamMasterTest, StarvingRanksGetMoreWorkersAndIdleOnesGoAfterHalfAMinute) {
    StreamMaster::Options options;
    options.workersLeast = 1;
    options.workersMost = 4;
    master(options);
    EXPECT_EQ(master_->adviseWorkers({}, nowNs_), 1);
    const WorkerId a = join("a");
    EXPECT_EQ(master_->adviseWorkers({0.5}, nowNs_), 2);
    EXPECT_EQ(master_->adviseWorkers({0.5}, nowNs_), 2) << "the second is on its way";
    join("b");
    EXPECT_EQ(master_->adviseWorkers({1}, nowNs_), 4);
    add(0, 1);
    decide();
    master_->started({a, 0, 0});
    pass(1 * kSecond);
    master_->done({a, 0, 0}, nowNs_);
    EXPECT_EQ(master_->adviseWorkers({}, nowNs_), 4);
    pass(31 * kSecond);
    EXPECT_EQ(master_->adviseWorkers({}, nowNs_), 3);
    pass(31 * kSecond);
    EXPECT_EQ(master_->adviseWorkers({}, nowNs_), 2);
}

// The frames of full workers are awaited: their links are the limit, and more workers would not
// help.
TEST_F(StreamMasterTest, StarvingRanksGetNoMoreWorkersWhileLinksAreTheLimit) {
    StreamMaster::Options options;
    options.workersLeast = 1;
    options.workersMost = 4;
    master(options);
    const WorkerId a = join("a");
    add(0, 2);
    decide();
    StreamMaster::RankDemand demand{1, {{a, 0.9}}};
    for (const std::int64_t number : {0, 1}) {
        master_->done({a, number, 0}, nowNs_);
    }
    // The first advice may hit a full worker by chance.
    master_->adviseWorkers({0, demand.awaited}, nowNs_);
    for (int second = 0; second < 60; ++second) {
        pass(kSecond);
        EXPECT_EQ(master_->adviseWorkers(demand, nowNs_), 1) << second;
    }
    // Its frames are hardly awaited: the computation is the limit again.
    demand.awaited[a] = 0.1;
    int advice = 0;
    for (int second = 0; second < 3; ++second) {
        pass(kSecond);
        advice = master_->adviseWorkers(demand, nowNs_);
    }
    EXPECT_EQ(advice, 2);
}

TEST_F(StreamMasterTest, AWorkerThatComputesIsNotLimitedByItsLink) {
    StreamMaster::Options options;
    options.workersMost = 4;
    master(options);
    const WorkerId a = join("a");
    add(0, 3);
    decide();
    master_->started({a, 1, 0});
    master_->done({a, 0, 0}, nowNs_);
    for (int second = 0; second < 3; ++second) {
        master_->adviseWorkers({0, {{a, 1}}}, nowNs_);
        pass(kSecond);
    }
    EXPECT_EQ(master_->adviseWorkers({1, {{a, 1}}}, nowNs_), 2) << "one place is not full";
}

}  // namespace
}  // namespace millrace::stream
