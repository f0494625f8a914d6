// Runs that a new daemon finds: training, ended, never placed, waiting, stopping.
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using values::RunState;

TEST_F(AgentTest, ANewDaemonAdoptsWhatRuns) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Metrics{5, 0, 1, 5, {{"loss", 0.5}}});
    listeners.listeners.clear();
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    ASSERT_TRUE(listeners.listeners.contains(id + ".a1")) << "its socket is open again";
    hello(id);
    say(id, 1, rank::Metrics{5, 0, 1, 5, {{"loss", 0.5}}});  // sent again: not stored twice
    say(id, 2, rank::Metrics{6, 0, 2, 6, {{"loss", 0.4}}});
    EXPECT_EQ(store->metrics(id, "loss")->points.size(), 2u);
    say(id, 3, rank::Done{6, 2, "", {}, {}});
    leave(id);
    endGang(id, 1, 0);
    EXPECT_EQ(record(id).state, RunState::kFinished);
}

TEST_F(AgentTest, ARunThatEndedWhileNoDaemonWasThereIsFinished) {
    const std::string id = submit();
    hello(id);
    say(id, 1, rank::Done{6, 2, "", {}, {}});
    (void)engine.end(id + ".a1", 0);
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    clock.advanceMs(10);
    controller->drain();
    EXPECT_EQ(record(id).state, RunState::kFinished);
}

TEST_F(AgentTest, ARunThatTheEngineNeverGotIsPlacedAfterARestart) {
    const std::string id = submit();
    engine.gangs.clear();
    engine.states.clear();
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    EXPECT_TRUE(engine.gangs.contains(id + ".a1"));
    EXPECT_EQ(record(id).attempt, 1);
}

TEST_F(AgentTest, QueuedRunsStayInOrderOverARestart) {
    const std::string first = submit(), second = submit(), third = submit();
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    controller->drain();
    endGang(first, 1, kExitInput);
    EXPECT_EQ(record(second).state, RunState::kStarting);
    EXPECT_EQ(record(third).state, RunState::kQueued);
}

TEST_F(AgentTest, AStopOutlivesARestart) {
    const std::string id = submit();
    hello(id);
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    hello(id);
    EXPECT_THAT(door(id)->stops, ElementsAre(1));
    leave(id);
    endGang(id, 1, kExitStopped);
    EXPECT_EQ(record(id).state, RunState::kCancelled);
    EXPECT_EQ(record(id).exitReason, "enough");
}

}  // namespace
}  // namespace millrace::agent
