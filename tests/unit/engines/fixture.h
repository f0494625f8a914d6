#pragma once
// An embedded engine with its own directory and real processes.
#include <memory>

#include "backend/core/clock.h"
#include "backend/engines/embedded_engine.h"
#include "tests/unit/exec/marked_processes.h"

namespace millrace::engines {

class EmbeddedEngineTest : public test::MarkedProcessTest {
 protected:
    EmbeddedEngineTest() { restart(); }

    /// Simulates a killed and restarted daemon: a new object over the same directory.
    void restart() {
        engine.reset();
        auto opened =
            EmbeddedEngine::open({file("runs"), execProgram(), {4, 0, 0}, gpus, here}, clock);
        EXPECT_TRUE(opened.ok()) << opened.status();
        if (opened.ok()) {
            engine = std::move(*opened);
        }
    }
    static Group group(const std::string& name, const std::string& script, bool hasRanks = false,
                       int procs = 1) {
        Group group;
        group.name = name;
        group.procs = procs;
        group.hasRanks = hasRanks;
        group.argv = {"sh", "-c", script};
        return group;
    }
    static Gang gang(std::vector<Group> groups, const std::string& key = "r-abcde.a1") {
        Gang gang;
        gang.key = key;
        gang.groups = std::move(groups);
        gang.grace = std::chrono::milliseconds(200);
        return gang;
    }
    /// The gang's key.
    std::string submit(const Gang& gang) {
        const Status status = engine->submit(gang);
        EXPECT_TRUE(status.ok()) << status;
        return gang.key;
    }
    State stateOf(const std::string& key) {
        auto state = engine->state(key);
        EXPECT_TRUE(state.ok()) << state.status();
        return state.ok() ? *state : State{};
    }
    State waitForEnd(const std::string& key) {
        State state;
        EXPECT_TRUE(test::eventually([&] {
            state = stateOf(key);
            return state.phase == Phase::kEnded;
        })) << textOf(state.phase);
        return state;
    }
    std::string workerFile(const std::string& worker, const std::string& name,
                           const std::string& gang = "r-abcde/a1") const {
        return file("runs/" + gang + "/" + worker + "/" + name);
    }
    std::string logOf(const std::string& worker) const {
        return test::readText(workerFile(worker, "out.log"));
    }
    /// Runs for ever and ignores SIGTERM, with a child in its own session.
    std::string deafScript(const std::string& ready) const { return foreverScript(ready, ""); }

    SystemClock clock;
    std::vector<std::string> gpus;  ///< of the next restart()
    PidScope here;                  ///< of the next restart(); without a host: this process's
    std::unique_ptr<EmbeddedEngine> engine;
};

}  // namespace millrace::engines
