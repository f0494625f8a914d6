#include "backend/engines/poller.h"

#include <mutex>

#include "tests/unit/engines/fixture.h"

namespace millrace::engines {
namespace {

// An engine that reports what the test wants.
class ScriptedEngine final : public Engine {
 public:
    Status submit(const Gang&) override { return unavailable("away"); }
    Result<bool> has(const std::string&) override { return unavailable("away"); }
    Result<State> state(const std::string&) override { return single; }
    Result<std::vector<std::pair<std::string, State>>> list() override { return all; }
    Status cancel(const std::string&, std::chrono::milliseconds, std::string_view) override {
        return okStatus();
    }
    Result<std::string> log(const std::string&, std::string_view, std::size_t) override {
        return "";
    }
    schedule::Resources total() const override { return {}; }
    Result<std::string> gangDirectory(std::string_view) const override { return ""; }
    std::vector<std::string> recordedKeys() const override { return {}; }
    Status forget(const std::string&) override { return okStatus(); }

    Result<State> single = State{};
    Result<std::vector<std::pair<std::string, State>>> all =
        std::vector<std::pair<std::string, State>>{};
};

State stateWith(Phase phase, bool isStarted, std::optional<int> exitCode = {}) {
    State state;
    state.phase = phase;
    WorkerState worker;
    worker.name = "rank0";
    worker.isStarted = isStarted;
    worker.exitCode = exitCode;
    state.workers.push_back(worker);
    return state;
}

const std::string kKey = "r-a.a1";

TEST(Poller, EachChangeIsToldOnce) {
    ScriptedEngine engine;
    Poller poller(engine);
    EXPECT_TRUE(poller.pollOnce().empty());
    for (const State& state :
         {stateWith(Phase::kSubmitting, false), stateWith(Phase::kRunning, true),
          stateWith(Phase::kStopping, true, 7), stateWith(Phase::kEnded, true, 7)}) {
        engine.all = {{{kKey, state}}};
        EXPECT_EQ(poller.pollOnce().at(kKey), state);
        engine.all->front().second.asOfMs += 100;
        const bool isOver = state.phase == Phase::kEnded;
        EXPECT_EQ(isOver ? 0U : poller.pollOnce().size(), 0U) << textOf(state.phase);
    }
    engine.all = std::vector<std::pair<std::string, State>>{};
    EXPECT_TRUE(poller.pollOnce().empty());
}

TEST(Poller, AnEngineThatCannotBeAskedChangesNothing) {
    ScriptedEngine engine;
    Poller poller(engine);
    engine.all = {{{kKey, stateWith(Phase::kRunning, true)}}};
    poller.pollOnce();
    engine.all = unavailable("away");
    EXPECT_TRUE(poller.pollOnce().empty());
    engine.all = {{{kKey, stateWith(Phase::kRunning, true)}}};
    EXPECT_TRUE(poller.pollOnce().empty());
}

TEST(Poller, AGangThatIsNoLongerListedHasNotEndedForThat) {
    ScriptedEngine engine;
    Poller poller(engine);
    engine.all = {{{kKey, stateWith(Phase::kRunning, true)}}};
    poller.pollOnce();
    engine.all = std::vector<std::pair<std::string, State>>{};
    engine.single = unavailable("away");
    EXPECT_TRUE(poller.pollOnce().empty());
    engine.single = State{};
    EXPECT_EQ(poller.pollOnce().at(kKey).phase, Phase::kMissing);
    EXPECT_TRUE(poller.pollOnce().empty());
}

using PollerThreadTest = EmbeddedEngineTest;

TEST_F(PollerThreadTest, TheThreadTellsOfRealWorkersAndEndsWithItsOwner) {
    std::mutex mutex;
    State last;
    PollerOptions options;
    options.busy = std::chrono::milliseconds(5);
    options.quiet = std::chrono::hours(1);
    Poller poller(*engine, options);
    poller.run([&](const std::string&, const State& state) {
        const std::lock_guard lock(mutex);
        last = state;
    });
    submit(gang({group("rank", "exit 7", true)}));
    poller.poke();
    EXPECT_TRUE(test::eventually([&] {
        const std::lock_guard lock(mutex);
        return last.phase == Phase::kEnded && last.exitCode == 7;
    }));
}

}  // namespace
}  // namespace millrace::engines
