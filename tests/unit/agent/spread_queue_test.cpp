// Runs with ranks on several nodes in the queue: which of them gets the free nodes.
#include "daemon/agent/membership/node_table.h"
#include "tests/support/poll.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::HasSubstr;
using values::RunState;

class SilentSession final : public NodeSession {
 public:
    void send(const NodeOrders&) override {}
    void shutOut(const Status&) override {}
};

class SpreadQueueTest : public AgentTest {
 protected:
    SpreadQueueTest() {
        engine.machine.cpus = 16;
        makeController();
        inspector.reply->runs = {someInspected()};
        Json& spec = inspector.reply->runs[0].spec;
        spec["train"]["ranks"] = 2;
        spec["train"]["nodes"] = 2;
        spec["resources"]["loader_threads"] = 1;
    }
    void attach(int cores) {
        values::NodeInfo info;
        info.name = "node1";
        info.cores = cores;
        ASSERT_TRUE(table->attach(session, info, {}).ok());
    }
    /// Submits a run; nothing starts before the next look at the queue.
    std::string queue() { return service->submit(order())->runs.at(0).id; }
    void look() {
        clock.advanceMs(500);
        EXPECT_TRUE(table->report(*session, {}).ok());
        controller->drain();
    }

    std::shared_ptr<SilentSession> session = std::make_shared<SilentSession>();
};

TEST_F(SpreadQueueTest, ANodeThatFellSilentWhileThereWasNothingToDoIsNotThere) {
    attach(16);
    controller->start();  // its thread looks only because time passes
    EXPECT_TRUE(test::eventually([this] {
        clock.advanceMs(100);
        return !table->standing("node1").isThere;
    }));
    controller->end();
}

TEST_F(SpreadQueueTest, OfTwoForTheSameNodeOneBeginsAndTheOtherWaits) {
    attach(1);
    const std::string first = queue(), second = queue();
    look();
    EXPECT_EQ(record(first).state, RunState::kStarting);
    EXPECT_TRUE(engine.gangs.contains(first + ".a1"));
    EXPECT_EQ(record(second).state, RunState::kQueued);
    EXPECT_THAT(live.get(second).queuedReason, HasSubstr("needs 1 node beside the head's"));
    look();
    EXPECT_EQ(record(second).state, RunState::kQueued);
    EXPECT_EQ(record(second).attempt, 0) << "it holds nothing of the head's machine";
    EXPECT_THAT(live.get(second).queuedReason, HasSubstr("needs 1 node beside the head's"));
    endGang(first, 1, 0);
    for (int i = 0; i < 100 && record(second).state == RunState::kQueued; ++i) {
        look();
    }
    EXPECT_EQ(record(second).state, RunState::kStarting);
}

TEST_F(SpreadQueueTest, AnAttemptThatWaitsForANodeBeginsWhenItComes) {
    attach(16);
    const std::string run = queue();
    look();
    ASSERT_TRUE(engine.gangs.contains(run + ".a1"));
    ASSERT_TRUE(table->drain("node1", true).ok());
    endGang(run, 1, 137);
    for (int i = 0; i < 120; ++i) {
        look();
    }
    EXPECT_THAT(live.get(run).queuedReason, HasSubstr("cannot be started now: needs 1 node"));
    ASSERT_TRUE(table->drain("node1", false).ok());
    int looks = 0;
    for (; looks < 100 && !engine.gangs.contains(run + ".a2"); ++looks) {
        look();
    }
    EXPECT_LE(looks, 3) << "each half a second";
}

TEST_F(SpreadQueueTest, OneThatHasNotGotItsNodesComesBeforeThoseBehindIt) {
    attach(1);
    listeners.openError = unavailable("no descriptor is free");
    const std::string first = queue();
    look();
    EXPECT_EQ(record(first).state, RunState::kStarting);
    const std::string second = queue();
    look();
    EXPECT_EQ(record(second).state, RunState::kQueued);
    listeners.openError = okStatus();
    for (int i = 0; i < 100 && !engine.gangs.contains(first + ".a1"); ++i) {
        look();
    }
    EXPECT_TRUE(engine.gangs.contains(first + ".a1"));
    EXPECT_EQ(record(second).state, RunState::kQueued);
}

TEST_F(SpreadQueueTest,
       OneThatWaitsForWhatIsFreeHoldsBackThoseBehindItAndOneThatLacksANodeDoesNot) {
    attach(1);
    const std::string first = queue();
    look();
    const std::string second = queue();
    inspector.reply->runs = {someInspected()};
    inspector.reply->runs[0].spec["resources"]["loader_threads"] = 1;
    const std::string small = queue();
    look();
    EXPECT_EQ(record(second).state, RunState::kQueued);
    EXPECT_EQ(record(small).state, RunState::kQueued) << "no overtaking";
    EXPECT_EQ(live.get(small).queuedReason, "2nd of 2 in the queue");
    table->detach(*session);
    clock.advanceMs(4'000);
    for (int i = 0; i < 10 && record(small).state == RunState::kQueued; ++i) {
        clock.advanceMs(500);
        controller->drain();
    }
    EXPECT_EQ(record(small).state, RunState::kStarting) << "nobody knows when a node comes";
    EXPECT_EQ(record(second).state, RunState::kQueued);
}

TEST_F(SpreadQueueTest, ARunThatANewDaemonCannotAskForKeepsItsNodes) {
    engine.machine.cpus = 2;
    attach(1);
    const std::string first = queue();
    look();
    ASSERT_TRUE(engine.gangs.contains(first + ".a1"));
    table = std::make_unique<NodeTable>(NodeTableOptions{"head"}, clock, *logs);
    listeners.listeners.clear();
    makeController();
    engine.findError = dataLoss("gang.json: damaged");
    ASSERT_TRUE(controller->recover().ok());
    inspector.reply->runs = {someInspected()};
    inspector.reply->runs[0].spec["resources"]["loader_threads"] = 1;
    const std::string second = queue();
    clock.advanceMs(500);
    controller->drain();
    EXPECT_EQ(record(second).state, RunState::kQueued) << "the first one's ranks may live";
    EXPECT_EQ(nodes->standing("").free.cpus, 0);
    EXPECT_EQ(table->partWorkers(*session, first, 1).size(), 0u) << "node1 has not come";
    attach(1);
    EXPECT_EQ(table->partWorkers(*session, first, 1).size(), 2u) << "they may tell what they do";
}

}  // namespace
}  // namespace millrace::agent
