// Random events of runs, in any order: no move that is missing in the table (it would end the
// daemon), never two gangs at once, and an end as soon as nothing prevents it.
#include <algorithm>
#include <random>

#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

class AttemptWalkTest : public AgentTest {
 protected:
    void pass(std::int64_t ms) {
        clock.advanceMs(ms);
        controller->drain();
    }
    std::string key() const { return strCat(id, ".a", record(id).attempt); }
    bool isEnded() const { return values::isEnded(record(id).state); }
    engines::State* gang() {
        const auto found = engine.states.find(key());
        return found == engine.states.end() ? nullptr : &found->second;
    }
    void replaceDaemon() {
        listeners.listeners.clear();
        makeController();
        EXPECT_TRUE(controller->recover().ok());
    }
    void ranksGo() {
        engines::State* state = gang();
        if (state == nullptr || state->phase == engines::Phase::kEnded) {
            return;
        }
        state->workers.at(1).exitCode = 5;
        controller->post(key(), *state);
        controller->drain();
    }
    void end(int code) {
        if (gang() != nullptr) {
            endGang(id, record(id).attempt, code);
        }
    }
    void speak(int what) {
        const int attempt = record(id).attempt;
        if (!listeners.listeners.contains(key()) || !door(id, attempt)->isOpen) {
            return;
        }
        hello(id, attempt);
        ++step_;
        if (what == 0) {
            say(id, ++seq_, rank::Metrics{step_, 0, step_, step_, {{"loss", 0.5}}}, attempt);
        } else if (what == 1) {
            checkpoint(id, ++seq_, step_, attempt);
        } else {
            say(id, ++seq_, rank::Done{step_, step_, "", {}, {}}, attempt);
        }
    }
    static void toggle(Status& status) {
        status = status.ok() ? unavailable("not now") : okStatus();
    }

    void happen(int what) {
        switch (what) {
            case 0:
                return pass(300);
            case 1:
                return pass(1'100);
            case 2:
                return pass(40'000);
            case 3:
                return pass(12 * 60'000);
            case 4:
                return end(137);
            case 5:
                return end(0);
            case 6:
                return ranksGo();
            case 7:
                return (void)service->stop(id, "enough", std::chrono::seconds(random() % 60));
            case 8:
                return toggle(engine.submitError);
            case 9:
                return toggle(engine.findError);
            case 10:
                return toggle(engine.cancelError);
            case 11:
                return toggle(listeners.openError);
            case 12:
                return replaceDaemon();
            default:
                return speak(what % 3);
        }
    }
    // All gangs but the newest have ended, or were silent until their leases ended.
    void expectOneGang() const {
        for (const auto& [other, state] : engine.states) {
            const bool isOver = state.phase == engines::Phase::kEnded ||
                                std::count(engine.cancelled.begin(), engine.cancelled.end(), other);
            EXPECT_TRUE(other == key() || isOver) << other << " beside " << key();
        }
    }
    /// Runs forty random events, then lets everything settle; returns the run's state.
    values::RunState walk(std::uint32_t seed) {
        random.seed(seed);
        seq_ = step_ = 0;
        id = submit(3);
        for (int i = 0; i < 40 && !isEnded(); ++i) {
            happen(static_cast<int>(random() % 18));
            expectOneGang();
        }
        engine.submitError = engine.findError = engine.cancelError = okStatus();
        listeners.openError = okStatus();
        for (int i = 0; i < 20 && !isEnded(); ++i) {
            (void)service->stop(id, "enough", std::chrono::seconds(1));
            pass(40'000);
            end(3);
            pass(3'000);
        }
        engine.states.clear();
        engine.gangs.clear();
        return record(id).state;
    }

    std::mt19937 random;
    std::string id;
    std::uint64_t seq_ = 0;
    std::int64_t step_ = 0;
};

TEST_F(AttemptWalkTest, AnythingInAnyOrderEndsInTheEnd) {
    for (std::uint32_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        const values::RunState end = walk(seed);
        ASSERT_TRUE(values::isEnded(end)) << values::nameOf(end) << "\n" << history(id);
        ASSERT_FALSE(HasFailure());
    }
}

}  // namespace
}  // namespace millrace::agent
