#include "backend/train/loop/phase_clock.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/support/fake_clock.h"
#include "tests/unit/train/trainer_fixture.h"

namespace millrace::train {
namespace {

using values::PhaseTimes;

constexpr std::uint64_t kSeeds = 20;

void expectNoneFell(const PhaseTimes& before, const PhaseTimes& now) {
    for (const auto part : PhaseTimes::parts()) {
        EXPECT_GE(now.*part, before.*part);
    }
}

// Random phases, scopes within scopes, looked at in the middle of each.
TEST(PhaseClock, NoPartEverFallsAndAllAreTheTimeThatPassed) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        FakeClock clock;
        PhaseClock phases(clock);
        std::int64_t passedMs = 0;
        PhaseTimes expected, before;
        const auto pass = [&](PhaseClock::Phase phase) {
            const auto ms = static_cast<std::int64_t>(random() % 500);
            clock.advanceMs(ms);
            passedMs += ms;
            expected.*phase += static_cast<double>(ms);
            const PhaseTimes now = phases.times();
            expectNoneFell(before, now);
            EXPECT_NEAR(now.sum(), static_cast<double>(passedMs), 1e-6);
            before = now;
        };
        pass(&PhaseTimes::startMs);
        phases.enter(&PhaseTimes::busyMs);
        for (int i = 0; i < 200; ++i) {
            pass(&PhaseTimes::busyMs);
            const auto part = PhaseTimes::parts()[1 + random() % 3];
            const PhaseClock::Scope scope(phases, part);
            pass(part);
            if (part != &PhaseTimes::stallMs) {
                const PhaseClock::Scope wait(phases, phases.waiting());
                pass(part);  // a wait for rows of an evaluation is the evaluation's
            }
        }
        for (const auto part : PhaseTimes::parts()) {
            EXPECT_NEAR(before.*part, expected.*part, 1e-6);
        }
    }
}

/// Notes when each report was sent.
class TimedReporter final : public Reporter {
 public:
    explicit TimedReporter(const Clock& clock) : clock_(clock) {}
    Status send(rank::Body body) override {
        if (const auto* told = std::get_if<rank::Progress>(&body)) {
            reports.emplace_back(clock_.wallMs(), *told);
        }
        return okStatus();
    }
    Status finish(rank::Body) override { return okStatus(); }
    void setTrouble(const std::string&, std::string) override {}
    Result<std::vector<std::string>> unacked() const override { return std::vector<std::string>(); }
    std::int64_t unackedCheckpoints() override { return 0; }
    bool begin(std::int64_t) override { return true; }
    bool isOver(std::int64_t) override { return false; }

    std::vector<std::pair<std::int64_t, rank::Progress>> reports;

 private:
    const Clock& clock_;
};

// The whole trainer with evaluations and checkpoints, over a stream that keeps it waiting at
// random.
TEST(PhaseClock, TheTrainersReportsNeverTakeBackATimeAndSumToTheTimeThatPassed) {
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937_64 random(seed);
        test::TrainerFixture f;
        f.options.hasEval = true;
        f.options.evalEverySteps = 2;
        f.options.checkpoints.everySteps = 3;
        FakeClock clock;
        TimedReporter reporter(clock);
        double waitedMs = 0, evaluatedMs = 0;
        bool hasBatch = false;
        const auto wait = [&](test::MemoryStream& stream, std::int64_t ms) {
            clock.advanceMs(ms);
            stream.numWaits += stream.numWaits == 0 && random() % 4 == 0 ? 1 + random() % 5 : 0;
        };
        f.train.onNext = [&] {
            const auto ms = static_cast<std::int64_t>(random() % 300);
            waitedMs += hasBatch ? static_cast<double>(ms) : 0;
            wait(f.train, ms);
            hasBatch = hasBatch || f.train.numWaits == 0;
        };
        f.eval.onNext = [&] {
            const auto ms = static_cast<std::int64_t>(random() % 100);
            evaluatedMs += static_cast<double>(ms);
            wait(f.eval, ms);
        };
        const std::int64_t startMs = clock.wallMs();
        const auto open = [&](const char* name,
                              const std::string& state) -> Result<std::unique_ptr<BatchSource>> {
            const bool isTrain = std::string_view(name) == "train";
            return std::unique_ptr<BatchSource>(new test::MemorySource(
                isTrain ? f.train : f.eval, 1, isTrain ? f.train.epochs : 1, state));
        };
        auto trainer =
            Trainer::make(f.options, nullptr, nullptr, open, test::alone(), reporter, clock);
        ASSERT_TRUE(trainer.ok()) << trainer.status();
        ASSERT_TRUE((*trainer)->run().ok());
        ASSERT_GT(reporter.reports.size(), 5U);
        PhaseTimes before;
        for (const auto& [timeMs, report] : reporter.reports) {
            expectNoneFell(before, report.times);
            EXPECT_NEAR(report.times.sum(), static_cast<double>(timeMs - startMs), 1e-6);
            before = report.times;
        }
        EXPECT_NEAR(before.stallMs, waitedMs, 1e-6);
        EXPECT_NEAR(before.evaluateMs, evaluatedMs, 1e-6);
        EXPECT_EQ(before.busyMs, 0) << "this learner takes no time of this clock";
    }
}

TEST(PhaseClock, AWaitCountsWhileItLasts) {
    FakeClock clock;
    PhaseClock phases(clock);
    phases.enter(&PhaseTimes::busyMs);
    clock.advanceMs(10);
    const PhaseClock::Scope wait(phases, phases.waiting());
    clock.advanceMs(700);
    EXPECT_DOUBLE_EQ(phases.times().stallMs, 700);
    EXPECT_DOUBLE_EQ(phases.times().busyMs, 10);
}

}  // namespace
}  // namespace millrace::train
