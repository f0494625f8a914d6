// Runs whose ranks are spread over nodes, in the queue: which of them takes the nodes that are
// free.
#include "daemon/agent/node_table.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::HasSubstr;
using values::RunState;

class SilentSession final : public NodeSession {
 public:
    void send(const NodeOrders&) override {}
};

class SpreadQueueTest : public AgentTest {
 protected:
    SpreadQueueTest() {
        engine.total.cpus = 16;
        nodes = &table;
        makeController();
        inspector.reply->runs = {someInspected()};
        Json& spec = inspector.reply->runs[0].spec;
        spec["train"]["ranks"] = 2;
        spec["train"]["nodes"] = 2;
        spec["resources"]["loader_threads"] = 1;
    }
    ~SpreadQueueTest() override {
        service.reset();
        controller.reset();
    }
    void attach(int cores) {
        values::NodeInfo info;
        info.name = "node1";
        info.cores = cores;
        ASSERT_TRUE(table.attach(session, info, {}).ok());
    }
    /// Into the queue; nothing is started before the next look at it.
    std::string queue() { return service->submit(order())->runs.at(0).id; }
    void look() {
        clock.advanceMs(500);
        EXPECT_TRUE(table.report(*session, {}).ok());
        controller->drain();
    }

    NodeTable table{{"head", std::chrono::milliseconds(20'000)}, clock, *logs};
    std::shared_ptr<SilentSession> session = std::make_shared<SilentSession>();
};

TEST_F(SpreadQueueTest, OfTwoForTheSameNodeOneBeginsAndTheOtherWaits) {
    attach(1);
    const std::string first = queue(), second = queue();
    look();
    EXPECT_EQ(record(first).state, RunState::kStarting);
    EXPECT_TRUE(engine.gangs.contains(first + ".a1"));
    EXPECT_EQ(record(second).state, RunState::kQueued);
    EXPECT_EQ(live.get(second).queuedReason, strCat("waits until run ", first, " has its nodes"));
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

TEST_F(SpreadQueueTest, NoneBeginsWhileAnotherHasNotGotItsNodes) {
    attach(4);
    doors.openError = unavailable("no descriptor is free");
    const std::string first = queue();
    look();
    EXPECT_EQ(record(first).state, RunState::kStarting);
    const std::string second = queue();
    look();
    EXPECT_EQ(record(second).state, RunState::kQueued);
    EXPECT_EQ(live.get(second).queuedReason, strCat("waits until run ", first, " has its nodes"));
    doors.openError = okStatus();
    for (int i = 0; i < 100 && record(second).state == RunState::kQueued; ++i) {
        look();
    }
    EXPECT_TRUE(engine.gangs.contains(first + ".a1"));
    EXPECT_TRUE(engine.gangs.contains(second + ".a1"));
}

}  // namespace
}  // namespace millrace::agent
