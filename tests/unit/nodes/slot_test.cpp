// What an agent does by itself: leaving, the lease of a bound agent, a head that refuses it.
#include "daemon/nodes/slot.h"

#include <functional>

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

const std::string kDataKey = "r-abcde.a1.d0", kPartKey = "r-abcde.a1";

/// A connection that exists as long as the test wants.
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
        const bool wasCalled = std::exchange(isCalled, isCalled && isUp);
        return wasCalled ? std::exchange(orders, {}) : std::vector<v1::HeadOrders>();
    }
    bool isUp = true, isCalled = false;
    Status refused = okStatus();
    std::vector<v1::HeadOrders> orders;
    std::vector<v1::AgentReport> sent;
};

/// Transfers of checkpoints that get as far as the test wants.
struct FakeFiles final : HeadFiles {
    Status fetch(const std::string&) override {
        ++numFetches;
        return fetched;
    }
    std::optional<values::HandOver> handOver(const std::string&) override { return left; }
    void drop(const std::string& key) override { dropped.push_back(key); }
    Status fetched = okStatus();
    int numFetches = 0;
    std::optional<values::HandOver> left;
    std::vector<std::string> dropped;
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
    void begin(const std::function<void(agent::FakeEngine&)>& arrange = [](auto&) {}) {
        SlotParts parts;
        auto own = std::make_unique<agent::FakeEngine>();
        engine = own.get();
        arrange(*engine);
        parts.engine = std::move(own);
        auto up = std::make_unique<FakeUplink>();
        link = up.get();
        parts.link = std::move(up);
        auto moved = std::make_unique<FakeFiles>();
        files = moved.get();
        parts.files = std::move(moved);
        parts.openTunnel = [](const auto&) { return std::make_unique<PartTunnel>(); };
        parts.info.name = "node1";
        slot = std::make_unique<Slot>(config, clock, [this] { ++numEnds; }, std::move(parts));
        slot->turn();
        link->orders.emplace_back();  // the head's first message
        slot->turn();
    }
    /// Places a data worker as the head does.
    void order() {
        agent::NodeOrders orders;
        const agent::DataWorkerName name{"r-abcde", 1, 0};
        orders.placed.push_back(
            {{kDataKey, engines::gangText(agent::dataGang(name)), "", "join", "", ""}, {}});
        link->orders.push_back(toProto(orders));
        slot->turn();
    }
    void place() {
        order();
        ASSERT_TRUE(engine->states.contains(kDataKey));
    }
    /// Places part 0 of an attempt likewise; returns its state as the head receives it.
    const v1::GangReport* placePart() {
        engines::Group ranks;
        ranks.name = "rank";
        ranks.hasRanks = true;
        ranks.argv = {"/bin/true"};
        agent::NodeOrders orders;
        orders.placed.push_back(
            {{kPartKey, engines::gangText(agent::relayGang({"r-abcde", 1, 0}, ranks)), "", "", "",
              ""},
             {}});
        link->orders.push_back(toProto(orders));
        pass(1);
        return lastWord();
    }
    const v1::GangReport* lastWord() const {
        for (auto report = link->sent.rbegin(); report != link->sent.rend(); ++report) {
            if (report->gangs_size() > 0) {
                return &report->gangs(0);
            }
        }
        return nullptr;
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
    FakeFiles* files = nullptr;
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

TEST_F(SlotTest, ByAnOrderOfAConnectionThatIsOverNothingBegins) {
    begin();
    link->isUp = false;
    order();
    EXPECT_FALSE(engine->states.contains(kDataKey)) << "the head may have it elsewhere by now";
    link->isUp = true;
    pass(1);
    place();
}

TEST_F(SlotTest, FilesOfAnAttemptThatNeverBeganGoWhenTheHeadDoesNotAskForIt) {
    const std::string old = config.runsDir() + "/r-older/a1";
    std::filesystem::create_directories(old);
    begin();
    order();
    EXPECT_FALSE(std::filesystem::exists(config.runsDir() + "/r-older"));
}

TEST_F(SlotTest, FilesOfAPartThatEndedStayUntilItIsReleased) {
    const std::string folder = config.runsDir() + "/r-abcde/a1";
    std::filesystem::create_directories(folder);
    begin([](agent::FakeEngine& had) { had.states[kPartKey].phase = engines::Phase::kEnded; });
    EXPECT_TRUE(std::filesystem::exists(folder));
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

TEST_F(SlotTest, APartIsNotBegunBeforeItsCheckpointIsHere) {
    begin();
    files->fetched =
        unavailable("fetches step-00000008.a1.safetensors from the head: 1 MB of 2 MB");
    const v1::GangReport* told = placePart();
    ASSERT_NE(told, nullptr);
    EXPECT_EQ(told->phase(), "submitting");
    EXPECT_THAT(told->reason(), HasSubstr("1 MB of 2 MB"));
    EXPECT_FALSE(engine->states.contains(kPartKey));
    files->fetched = okStatus();
    pass(1);
    EXPECT_TRUE(engine->states.contains(kPartKey));
}

TEST_F(SlotTest, APartThatEndedNeedsNoCheckpoint) {
    begin([](agent::FakeEngine& had) { had.states[kPartKey].phase = engines::Phase::kEnded; });
    const v1::GangReport* told = placePart();
    ASSERT_NE(told, nullptr);
    EXPECT_EQ(told->phase(), "ended");
    EXPECT_EQ(files->numFetches, 0);
}

TEST_F(SlotTest, APartWhoseCheckpointTheHeadDoesNotHaveFails) {
    begin();
    files->fetched = notFound("step-00000008.a1.safetensors: not there");
    const v1::GangReport* told = placePart();
    ASSERT_NE(told, nullptr);
    EXPECT_EQ(told->phase(), "ended");
    EXPECT_THAT(told->reason(), HasSubstr("not there"));
}

TEST_F(SlotTest, APartIsOverWhenTheHeadHasItsCheckpoints) {
    begin();
    placePart();
    files->left = values::HandOver{8, 100, 10};
    engine->states[kPartKey].phase = engines::Phase::kEnded;
    engine->states[kPartKey].cause = engines::Cause::kWorkerFailed;
    pass(1);
    EXPECT_EQ(lastWord()->phase(), "stopping");
    EXPECT_EQ(lastWord()->cause(), "worker_failed");
    EXPECT_EQ(lastWord()->hand_over().sent(), 10);
    engine->states.clear();
    link->isUp = false;  // a new head hears it, too
    pass(2);
    link->isUp = true;
    pass(1);
    EXPECT_EQ(lastWord()->phase(), "stopping");
    v1::HeadOrders end;
    end.add_ended()->set_key(kPartKey);
    link->orders.push_back(end);
    pass(1);
    EXPECT_THAT(files->dropped, ElementsAre());
    files->left.reset();
    pass(1);
    EXPECT_EQ(lastWord()->phase(), "ended");
    EXPECT_FALSE(lastWord()->has_hand_over());
    EXPECT_THAT(files->dropped, ElementsAre(kPartKey)) << "the head has released it";
}

TEST_F(SlotTest, AnAgentThatEndsAllWaitsForNoCheckpoint) {
    begin();
    placePart();
    files->left = values::HandOver{8, 100, 10};
    v1::HeadOrders down;
    down.set_is_end(true);
    link->orders.push_back(down);
    slot->turn();
    engine->states[kPartKey].phase = engines::Phase::kEnded;
    pass(1);
    EXPECT_EQ(numEnds, 1);
}

}  // namespace
}  // namespace millrace::nodes
