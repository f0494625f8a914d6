// What an agent does of its own accord: leaving, the lease of a bound one, a head that refuses it.
#include "daemon/nodes/slot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemon/nodes/messages.h"
#include "tests/support/fake_clock.h"
#include "tests/support/temp_dir.h"
#include "tests/unit/agent/fake_engine.h"

namespace millrace::nodes {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kDataKey = "r-abcde.a1.d0";

/// A connection that is there as long as the test wants it to be.
struct FakeUplink final : Uplink {
    bool isOpen() const override { return isUp && isCalled; }
    bool isDue() const override { return isUp && !isCalled; }
    Status refusal() const override { return refused; }
    void open(v1::AgentReport first) override {
        isCalled = true;
        sent.push_back(std::move(first));
    }
    bool isReady() const override { return isOpen(); }
    void send(v1::AgentReport report) override { sent.push_back(std::move(report)); }
    std::vector<v1::HeadOrders> take() override {
        isCalled = isCalled && isUp;
        return isCalled ? std::exchange(orders, {}) : std::vector<v1::HeadOrders>();
    }
    bool isUp = true, isCalled = false;
    Status refused = okStatus();
    std::vector<v1::HeadOrders> orders;
    std::vector<v1::AgentReport> sent;
};

class SlotTest : public ::testing::Test {
 protected:
    SlotTest() {
        config.stateDir = directory / "slot";
        config.binDir = "/opt/bin";
        config.isBound = true;
        config.lease = std::chrono::seconds(60);
        config.leaveGrace = std::chrono::seconds(30);
    }
    void begin() {
        SlotParts parts;
        auto own = std::make_unique<agent::FakeEngine>();
        engine = own.get();
        parts.engine = std::move(own);
        auto up = std::make_unique<FakeUplink>();
        link = up.get();
        parts.link = std::move(up);
        parts.info.name = "node1";
        slot = std::make_unique<Slot>(config, clock, [this] { ++numEnds; }, std::move(parts));
        slot->turn();
        link->orders.emplace_back();  // the head's first word
        slot->turn();
    }
    /// A data worker, as the head places one.
    void place() {
        agent::NodeOrders orders;
        const agent::DataWorkerName name{"r-abcde", 1, 0};
        orders.placed.push_back(
            {{kDataKey, engines::gangText(agent::dataGang(name)), "", "join", "", ""}, {}});
        link->orders.push_back(toProto(orders));
        slot->turn();
        ASSERT_TRUE(engine->states.contains(kDataKey));
    }
    void endWorker() {
        engine->states[kDataKey].phase = engines::Phase::kEnded;
        engine->states[kDataKey].cause = engines::Cause::kCancelled;
    }
    void pass(int seconds) {
        for (int i = 0; i < 2 * seconds; ++i) {
            clock.advanceMs(500);
            slot->turn();
        }
    }

    tests::TempDir directory;
    FakeClock clock;
    config::DaemonConfig config;
    agent::FakeEngine* engine = nullptr;
    FakeUplink* link = nullptr;
    std::unique_ptr<Slot> slot;
    int numEnds = 0;
};

TEST_F(SlotTest, OneThatLeavesSaysSoAndEndsWhenNothingIsLeft) {
    begin();
    place();
    slot->leave();
    pass(2);
    EXPECT_TRUE(link->sent.back().has_leave());
    EXPECT_GT(link->sent.back().leave().grace_ms(), 25'000);
    EXPECT_FALSE(link->sent.back().leave().is_gone());
    EXPECT_THAT(engine->cancelled, ElementsAre()) << "the head has it elsewhere first";
    v1::HeadOrders end;
    end.add_ended()->set_key(kDataKey);
    link->orders.push_back(end);
    slot->turn();
    EXPECT_THAT(engine->cancelled, ElementsAre(kDataKey));
    endWorker();
    pass(1);
    engine->states.clear();
    pass(1);
    EXPECT_TRUE(link->sent.back().leave().is_gone());
    EXPECT_EQ(numEnds, 0) << "its last word may be on its way";
    link->isUp = false;
    pass(1);
    EXPECT_EQ(numEnds, 1);
    EXPECT_TRUE(slot->isOver());
    EXPECT_TRUE(slot->failure().ok());
}

TEST_F(SlotTest, WhatIsLeftAfterTheGraceIsEnded) {
    begin();
    place();
    slot->leave();
    pass(29);
    EXPECT_THAT(engine->cancelled, ElementsAre());
    pass(2);
    EXPECT_THAT(engine->cancelled, ElementsAre(kDataKey));
    pass(5);
    EXPECT_EQ(numEnds, 1) << "also where it does not end";
}

TEST_F(SlotTest, OneThatLeavesStartsNothing) {
    begin();
    slot->leave();
    slot->turn();
    agent::NodeOrders orders;
    const agent::DataWorkerName name{"r-abcde", 1, 0};
    orders.placed.push_back(
        {{kDataKey, engines::gangText(agent::dataGang(name)), "", "join", "", ""}, {}});
    link->orders.push_back(toProto(orders));
    pass(1);
    EXPECT_TRUE(engine->gangs.empty());
}

TEST_F(SlotTest, ABoundOneEndsWithAllWhenItsHeadIsGoneForTheLease) {
    begin();
    place();
    link->isUp = false;
    pass(59);
    EXPECT_THAT(engine->cancelled, ElementsAre());
    pass(2);
    EXPECT_THAT(engine->cancelled, ElementsAre(kDataKey));
    endWorker();
    pass(1);
    EXPECT_EQ(numEnds, 1);
    EXPECT_THAT(std::string(messageOf(slot->failure())), HasSubstr("no head for 60 s"));
}

TEST_F(SlotTest, AHeadThatComesBackEndsNothing) {
    begin();
    place();
    for (int i = 0; i < 4; ++i) {
        link->isUp = false;
        pass(40);
        link->isUp = true;
        link->orders.emplace_back();
        pass(2);
    }
    EXPECT_THAT(engine->cancelled, ElementsAre());
    EXPECT_EQ(numEnds, 0);
}

TEST_F(SlotTest, WorkersOfOneThatIsNotBoundStay) {
    config.isBound = false;
    begin();
    place();
    link->isUp = false;
    pass(600);
    EXPECT_THAT(engine->cancelled, ElementsAre());
    EXPECT_EQ(numEnds, 0);
}

TEST_F(SlotTest, OneThatItsHeadWillNeverTakeInEndsWithTheReason) {
    begin();
    link->refused = failedPrecondition("attach: build a came to build b");
    slot->turn();
    EXPECT_EQ(numEnds, 1);
    EXPECT_THAT(std::string(messageOf(slot->failure())), HasSubstr("build a"));
    EXPECT_THAT(engine->cancelled, ElementsAre()) << "another agent finds its workers";
}

}  // namespace
}  // namespace millrace::nodes
