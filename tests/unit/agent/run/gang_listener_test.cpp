// The door of an attempt: its messages to the ranks when the run stops.
#include "daemon/agent/run/gang_listener.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using Kind = rank::Stop::Kind;

constexpr rank::Stop kNow{}, kHold{Kind::kHold};

constexpr rank::Stop behind(std::int64_t step) {
    return {Kind::kBehind, step};
}

rank::Sender rankOf(std::int64_t rank) {
    return {"r-abcde", 1, "rank", rank, 1};
}

class GangListenerTest : public ::testing::Test {
 protected:
    void open(int agreeing) {
        listener_.emplace(doors_, agreeing);
        ASSERT_TRUE(listener_->open("", "r-abcde", 1, {}).ok());
        for (int rank = 0; rank < 2; ++rank) {
            listener_->hello(static_cast<rank::ConnectionId>(rank), rankOf(rank));
        }
        listener_->hello(9, {"r-abcde", 1, "feed", 0, 1});
    }
    std::vector<rank::Stop> words() {
        return std::exchange(doors_.listeners.at("r-abcde.a1")->stopWords, {});
    }
    void held(std::int64_t rank, std::int64_t step) { heard(rank, rank::Held{step}); }
    void heard(std::int64_t rank, rank::Body body, std::int64_t attempt = 1) {
        listener_->heard(rankOf(rank), {1, attempt, std::move(body)});
    }

    FakeDoors doors_;
    std::optional<GangListener> listener_;
};

TEST_F(GangListenerTest, RanksOfOneMachineStopByThemselves) {
    open(0);
    listener_->stopRanks();
    EXPECT_THAT(words(), ElementsAre(kNow, kNow)) << "not the feed";
}

TEST_F(GangListenerTest, RanksOfSeveralMachinesAreHeldThenStopBehindTheFurthestStep) {
    open(2);
    listener_->stopRanks();
    EXPECT_THAT(words(), ElementsAre(kHold, kHold));
    held(0, 40);
    held(0, 40);  // once more, over another connection
    EXPECT_THAT(words(), ElementsAre());
    held(1, 42);
    EXPECT_THAT(words(), ElementsAre(behind(42), behind(42)));
    held(1, 42);
    EXPECT_THAT(words(), ElementsAre()) << "told once";
    listener_->hello(3, rankOf(0));
    listener_->stop(3);
    EXPECT_THAT(words(), ElementsAre(behind(42)))
        << "a rank that reconnects receives the agreed step";
}

TEST_F(GangListenerTest, ARankThatHasDoneAllStepsHoldsNobody) {
    open(2);
    heard(1, rank::Done{.step = 50});
    listener_->stopRanks();
    EXPECT_THAT(words(), ElementsAre(kHold, kHold));
    held(0, 49);
    EXPECT_THAT(words(),
                ElementsAre(behind(StopAgreement::kLastStep), behind(StopAgreement::kLastStep)));
}

TEST_F(GangListenerTest, WhatAnOlderAttemptCouldNotDeliverIsNoAnswer) {
    open(2);
    heard(1, rank::Done{.step = 50}, 0);
    listener_->stopRanks();
    held(0, 40);
    EXPECT_THAT(words(), ElementsAre(kHold, kHold)) << "rank 1 has its answer to give";
    held(1, 40);
    EXPECT_THAT(words(), ElementsAre(behind(40), behind(40)));
}

TEST_F(GangListenerTest, TheNextDaemonKnowsWhoWasDone) {
    open(2);
    ASSERT_TRUE(listener_->open("", "r-abcde", 1, {}, {1}).ok());
    listener_->hello(0, rankOf(0));
    listener_->stopRanks();
    held(0, 49);
    EXPECT_THAT(words(), ElementsAre(kHold, behind(StopAgreement::kLastStep)));
}

TEST_F(GangListenerTest, AnotherAttemptAgreesAnew) {
    open(2);
    listener_->stopRanks();
    held(0, 40);
    ASSERT_TRUE(listener_->open("", "r-abcde", 2, {}).ok());
    listener_->hello(7, rankOf(0));
    listener_->stop(7);
    heard(1, rank::Held{42}, 2);
    EXPECT_THAT(doors_.listeners.at("r-abcde.a2")->stopWords, ElementsAre(kHold));
}

}  // namespace
}  // namespace millrace::agent
