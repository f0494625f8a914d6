#include "backend/engines/poller.h"

#include <mutex>

#include "tests/unit/engines/fixture.h"

namespace millrace::engines {
namespace {

using Kinds = std::vector<std::string>;

Kinds kindsOf(const std::vector<Event>& events) {
    Kinds kinds;
    for (const Event& event : events) {
        kinds.emplace_back(textOf(event.kind));
    }
    return kinds;
}

// An engine that says what the test tells it to.
class ScriptedEngine final : public Engine {
 public:
    std::string name() const override { return "scripted"; }
    Result<JobId> submit(const Gang&) override { return unavailable("away"); }
    Result<std::optional<JobId>> find(std::string_view) override { return unavailable("away"); }
    Result<State> state(const JobId&) override { return single; }
    Result<std::vector<std::pair<JobId, State>>> list() override { return all; }
    Status cancel(const JobId&, std::chrono::milliseconds, std::string_view) override {
        return okStatus();
    }
    Result<std::string> log(const JobId&, std::string_view, std::size_t) override { return ""; }
    Result<Capacity> capacity() override { return Capacity{}; }
    Result<std::string> gangDirectory(std::string_view) const override { return ""; }
    std::vector<std::string> recordedKeys() const override { return {}; }
    Status forget(const JobId&) override { return okStatus(); }

    Result<State> single = State{};
    Result<std::vector<std::pair<JobId, State>>> all = std::vector<std::pair<JobId, State>>{};
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

const JobId kJob{"scripted", "", "r-a.a1"};

TEST(Poller, ALifeBecomesEventsOnceEachAndInOrder) {
    ScriptedEngine engine;
    Poller poller(engine);
    EXPECT_TRUE(poller.pollOnce().empty());
    engine.all = {{{kJob, stateWith(Phase::kSubmitting, false)}}};
    EXPECT_EQ(kindsOf(poller.pollOnce()), Kinds{"placed"});
    EXPECT_TRUE(poller.pollOnce().empty());
    engine.all = {{{kJob, stateWith(Phase::kRunning, true)}}};
    EXPECT_EQ(kindsOf(poller.pollOnce()), Kinds{"started"});
    EXPECT_TRUE(poller.pollOnce().empty());
    engine.all = {{{kJob, stateWith(Phase::kStopping, true, 7)}}};
    const auto events = poller.pollOnce();
    EXPECT_EQ(kindsOf(events), (Kinds{"worker_exit", "stopping"}));
    EXPECT_EQ(events[0].worker.exitCode, 7);
    engine.all = {{{kJob, stateWith(Phase::kEnded, true, 7)}}};
    EXPECT_EQ(kindsOf(poller.pollOnce()), Kinds{"ended"});
    engine.all = std::vector<std::pair<JobId, State>>{};
    EXPECT_TRUE(poller.pollOnce().empty());
}

TEST(Poller, AJobSeenOnlyAtItsEndStillGetsItsWholeStory) {
    ScriptedEngine engine;
    Poller poller(engine);
    engine.all = {{{kJob, stateWith(Phase::kEnded, true, 0)}}};
    EXPECT_EQ(kindsOf(poller.pollOnce()),
              (Kinds{"placed", "started", "worker_exit", "stopping", "ended"}));
}

TEST(Poller, AnUnreachableEngineChangesNoJob) {
    ScriptedEngine engine;
    Poller poller(engine);
    engine.all = {{{kJob, stateWith(Phase::kRunning, true)}}};
    poller.pollOnce();
    engine.all = unavailable("controller away");
    const auto events = poller.pollOnce();
    EXPECT_EQ(kindsOf(events), Kinds{"unreachable"});
    EXPECT_EQ(events[0].reason, "controller away");
    EXPECT_TRUE(poller.pollOnce().empty()) << "told once";
    engine.all = {{{kJob, stateWith(Phase::kRunning, true)}}};
    EXPECT_EQ(kindsOf(poller.pollOnce()), Kinds{"reachable"});
}

TEST(Poller, AJobThatIsNoLongerListedHasNotEndedForThat) {
    ScriptedEngine engine;
    Poller poller(engine);
    engine.all = {{{kJob, stateWith(Phase::kRunning, true)}}};
    poller.pollOnce();
    engine.all = std::vector<std::pair<JobId, State>>{};
    engine.single = unavailable("away");
    EXPECT_TRUE(poller.pollOnce().empty());
    engine.single = State{};
    EXPECT_EQ(kindsOf(poller.pollOnce()), Kinds{"missing"});
}

using PollerThreadTest = EmbeddedEngineTest;

TEST_F(PollerThreadTest, TheThreadTellsOfRealWorkersAndEndsWithItsOwner) {
    std::mutex mutex;
    Kinds kinds;
    PollerOptions options;
    options.busy = std::chrono::milliseconds(5);
    options.quiet = std::chrono::hours(1);
    {
        Poller poller(*engine, options);
        poller.run([&](const Event& event) {
            const std::lock_guard lock(mutex);
            kinds.emplace_back(textOf(event.kind));
        });
        submit(gang({group("rank", "exit 7", true)}));
        poller.poke();
        EXPECT_TRUE(test::eventually([&] {
            const std::lock_guard lock(mutex);
            return !kinds.empty() && kinds.back() == "ended";
        }));
    }
    EXPECT_EQ(kinds, (Kinds{"placed", "started", "worker_exit", "stopping", "ended"}));
}

}  // namespace
}  // namespace millrace::engines
