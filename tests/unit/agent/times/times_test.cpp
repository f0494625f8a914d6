// Where the time of a run went, over its attempts and over restarts of the daemon, and what is
// shown while it runs.
#include <algorithm>
#include <iterator>
#include <random>

#include "daemon/agent/run_watch.h"
#include "daemon/agent/times/recent_reports.h"
#include "tests/unit/agent/fakes.h"

namespace millrace::agent {
namespace {

using values::PhaseTimes;
using values::RunState;

class TimesTest : public AgentTest {
 protected:
    values::RunSummary shown(const std::string& id) const {
        return shownRun(readSummary(*store, id).value(), live.get(id));
    }
    /// Sends reports with random times of the rank, and checks each.
    void train(const std::string& id, int attempt, std::mt19937_64& random, PhaseTimes& all) {
        clock.advanceMs(static_cast<std::int64_t>(random() % 3'000));  // the process is started
        hello(id, attempt);
        PhaseTimes counted;
        for (std::uint64_t seq = 1; seq <= 20; ++seq) {
            const auto part = PhaseTimes::parts()[seq == 1 ? 4 : random() % 4];
            const auto ms = static_cast<std::int64_t>(random() % 900);
            clock.advanceMs(ms);
            counted.*part += static_cast<double>(ms);
            counted.busyMs += seq == 1 ? 0 : 50;  // say() advances the clock by 50 ms
            step_ += 1;
            say(id, seq, rank::Progress{step_, 0, step_, 0, "training", counted}, attempt);
            const PhaseTimes now = *shown(id).progress.times;
            for (const auto one : PhaseTimes::parts()) {
                EXPECT_GE(now.*one, before_.*one) << "at report " << seq;
            }
            before_ = now;
        }
        counted.startMs = 0;
        all += counted;
    }
    PhaseTimes before_;
    std::int64_t step_ = 0;
};

TEST_F(TimesTest, ThePartsNeverFallAndSumToTheTimeOfTheRunOverRestartsAndDaemons) {
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        before_ = {};
        step_ = 0;
        PhaseTimes all;
        const std::string id = submit(9);
        EXPECT_EQ(shown(id).progress.times->sum(), 0);
        constexpr int kAttempts = 4;
        for (int attempt = 1; attempt <= kAttempts; ++attempt) {
            train(id, attempt, random, all);
            if (random() % 2 == 0) {
                listeners.listeners.clear();
                makeController();
                ASSERT_TRUE(controller->recover().ok());
                EXPECT_GE(shown(id).progress.times->sum(), before_.sum() - 60) << "from the store";
            }
            if (attempt < kAttempts) {
                leave(id, attempt);
                endGang(id, attempt, 137);
                clock.advanceMs(static_cast<std::int64_t>(random() % 5'000));
                controller->drain();
            }
        }
        say(id, 21, rank::Done{step_, step_, "", {}, {}}, kAttempts);
        leave(id, kAttempts);
        endGang(id, kAttempts, 0);
        const runs::RunRecord ended = record(id);
        ASSERT_EQ(ended.state, RunState::kFinished);
        ASSERT_TRUE(ended.progress.times.has_value());
        const PhaseTimes& times = *ended.progress.times;
        EXPECT_NEAR(times.sum(), static_cast<double>(ended.endedMs - ended.startedMs), 1);
        EXPECT_NEAR(times.stallMs, all.stallMs, 1e-6);
        EXPECT_NEAR(times.busyMs, all.busyMs, 1e-6);
        EXPECT_NEAR(times.evaluateMs, all.evaluateMs, 1e-6);
        EXPECT_NEAR(times.checkpointMs, all.checkpointMs, 1e-6);
        EXPECT_EQ(shown(id).progress.times, ended.progress.times);
        EXPECT_FALSE(shown(id).progress.stallPercentNow.has_value());
    }
}

TEST_F(TimesTest, TheAbsenceOfADaemonIsNoStart) {
    const std::string id = submit();
    hello(id);
    clock.advanceMs(1'000);
    say(id, 1, rank::Progress{1, 0, 1, 0, "training", {800, 0, 0, 0, 200}});
    const double start = shown(id).progress.times->startMs;
    clock.advanceMs(36'000);
    listeners.listeners.clear();
    makeController();
    ASSERT_TRUE(controller->recover().ok());
    hello(id);
    say(id, 2, rank::Progress{2, 0, 2, 0, "training", {1'300, 0, 0, 0, 200}});  // has waited
    EXPECT_NEAR(shown(id).progress.times->startMs, start, 100);
}

TEST_F(TimesTest, WhereAPauseBeganAndEndedIsStored) {
    const std::string id = submit();
    hello(id);
    PhaseTimes counted;
    for (std::int64_t step = 1; step <= 60; ++step) {
        const bool isPause = step > 22 && step <= 25;
        clock.advanceMs(150);  // and 50 in say()
        (isPause ? counted.evaluateMs : counted.busyMs) += 200;
        const char* phase = isPause ? "evaluating" : "training";
        say(id, static_cast<std::uint64_t>(step), rank::Progress{step, 0, step, 0, phase, counted});
    }
    const auto points = store->metrics(id, "system.time.evaluate_ms")->points;
    const auto end = std::find_if(points.begin(), points.end(),
                                  [](const auto& point) { return point.value > 0; });
    ASSERT_TRUE(end != points.begin() && end != points.end());
    EXPECT_EQ(std::prev(end)->step, 22);
    EXPECT_EQ(end->step, 25);
    EXPECT_EQ(end->value, 600);
    EXPECT_EQ(end->timeMs - std::prev(end)->timeMs, 600);
    EXPECT_LE(points.size(), 10U) << "one in two seconds beside them";
}

TEST_F(TimesTest, HowLongARunDidNotGetOnIsStored) {
    const std::string id = submit();
    hello(id);
    PhaseTimes counted;
    const auto trainFor = [&](int reports) {
        for (int i = 0; i < reports; ++i) {
            clock.advanceMs(150);
            counted.busyMs += 200;
            step_ += 1;
            say(id, static_cast<std::uint64_t>(step_),
                rank::Progress{step_, 0, step_, 0, "training", counted});
        }
    };
    trainFor(20);
    for (int i = 0; i < 80; ++i) {
        clock.advanceMs(250);
        controller->drain();
    }
    ASSERT_NE(shown(id).standsSinceMs, 0);
    trainFor(12);
    const auto points = store->metrics(id, "system.time.standing_ms")->points;
    ASSERT_FALSE(points.empty());
    EXPECT_EQ(points.front().value, 0);
    EXPECT_NEAR(points.back().value, 20'000, 1'000);
}

TEST_F(TimesTest, AStallThatOnlyTheEndOfTheRunEndsIsStored) {
    const std::string id = submit();
    hello(id);
    PhaseTimes counted;
    for (std::uint64_t step = 1; step <= 20; ++step) {
        clock.advanceMs(150);
        counted.busyMs += 200;
        say(id, step,
            rank::Progress{static_cast<std::int64_t>(step), 0, 20, 0, "training", counted});
    }
    for (int i = 0; i < 80; ++i) {
        clock.advanceMs(250);
        controller->drain();
    }
    ASSERT_NE(shown(id).standsSinceMs, 0);
    const std::int64_t stalledUntilMs = clock.wallMs();
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    leave(id);
    endGang(id, 1, 137);
    clock.advanceMs(5'000);
    controller->drain();
    const runs::RunRecord ended = record(id);
    ASSERT_EQ(ended.state, RunState::kCancelled);
    const auto standing = store->metrics(id, "system.time.standing_ms")->points;
    const auto ending = store->metrics(id, "system.time.ending_ms")->points;
    ASSERT_GE(standing.size(), 2U);
    EXPECT_EQ(std::prev(standing.end(), 2)->value, 0) << "where the stall began";
    EXPECT_NEAR(standing.back().value, 20'000, 500);
    EXPECT_NEAR(standing.back().timeMs, stalledUntilMs, 500);
    EXPECT_NEAR(ending.back().value, standing.back().value, 500) << "it is a part of the ending";
    EXPECT_LE(ending.back().value, ended.progress.times->endingMs);
}

TEST_F(TimesTest, TheTimeInWhichARunIsStoppedIsNotItsOwn) {
    const std::string id = submit();
    hello(id);
    clock.advanceMs(1'000);
    say(id, 1, rank::Progress{1, 0, 1, 0, "training", {900, 0, 0, 0, 100}});
    ASSERT_TRUE(service->stop(id, "enough", std::chrono::seconds(15)).ok());
    checkpoint(id, 2, 1);
    leave(id);
    endGang(id, 1, kExitStopped);
    const double stopped = record(id).progress.times->sum();
    clock.advanceMs(3'600'000);
    ASSERT_TRUE(service->resume(id, values::kFromLast, {}).ok());
    controller->drain();
    hello(id, 2);
    clock.advanceMs(500);
    say(id, 1, rank::Progress{2, 0, 2, 0, "training", {400, 0, 0, 0, 100}}, 2);
    EXPECT_NEAR(shown(id).progress.times->sum(), stopped + 500, 60);
}

TEST_F(TimesTest, ARunThatNeverStartedHasNone) {
    inspector.reply->runs = {someInspected("", 2)};
    engine.submitError = resourceExhausted("no process can be started");
    const std::string id = submit();
    const std::string next = submit();
    EXPECT_EQ(record(next).state, RunState::kQueued);
    EXPECT_FALSE(shown(next).progress.times.has_value()) << "unknown, not 0";
}

PhaseTimes after(double busyMs, double stallMs, double evaluateMs = 0, double startMs = 1'000) {
    return {busyMs, stallMs, evaluateMs, 0, startMs};
}

TEST(RecentReports, ThePaceIsOfTheLastMinuteAndCountsWhatInterruptsSteps) {
    RecentReports recent;
    EXPECT_FALSE(recent.stepsPerSecond().has_value());
    recent.note(after(0, 0), 0, 1'000);
    EXPECT_FALSE(recent.stepsPerSecond().has_value());
    for (int second = 1; second <= 50; ++second) {
        recent.note(after(second * 1'000, 0), second * 10, 1'000 + second * 1'000);
    }
    EXPECT_DOUBLE_EQ(*recent.stepsPerSecond(), 10);
    recent.note(after(50'000, 0, 10'000), 500, 61'000);
    EXPECT_DOUBLE_EQ(*recent.stepsPerSecond(), 500.0 / 60) << "an evaluation of 10 s";
    for (int second = 1; second <= 60; ++second) {
        recent.note(after(50'000 + second * 1'000, 0, 10'000), 500 + second,
                    61'000 + second * 1'000);
    }
    EXPECT_DOUBLE_EQ(*recent.stepsPerSecond(), 1) << "what was before is forgotten";
    recent.note(after(100, 0), 400, 130'000);
    EXPECT_FALSE(recent.stepsPerSecond().has_value()) << "another attempt";
}

TEST(RecentReports, TheStallIsOfTheLastSeconds) {
    RecentReports recent;
    recent.note(after(0, 0), 1, 0);
    EXPECT_FALSE(recent.stallPercent().has_value()) << "one report says nothing of now";
    recent.note(after(900, 100), 2, 1'000);
    EXPECT_DOUBLE_EQ(*recent.stallPercent(), 10);
    // One step a second, half of it waiting, reported five times a second: the figure does not
    // jump.
    for (int i = 1; i <= 100; ++i) {
        const double steps = i / 5, part = i % 5 * 200;
        recent.note(after(900 + steps * 500 + std::max(0.0, part - 500),
                          100 + steps * 500 + std::min(500.0, part)),
                    2 + i / 5, 1'000 + i * 200);
        if (i >= 30) {
            EXPECT_NEAR(*recent.stallPercent(), 50, 6) << i;
        }
    }
}

}  // namespace
}  // namespace millrace::agent
