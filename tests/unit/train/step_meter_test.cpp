#include "backend/train/loop/step_meter.h"

#include <gtest/gtest.h>

#include "backend/values/metric_names.h"
#include "tests/support/fake_clock.h"

namespace millrace::train {
namespace {

namespace metric = values::metric;

class StepMeterTest : public ::testing::Test {
 protected:
    /// The rates that a step of 100 rows reports, `ms` after the step before.
    rank::Values step(std::int64_t ms, std::int64_t stallMs = 0) {
        clock.advanceMs(ms);
        rank::Values values;
        phases_.stallMs += static_cast<double>(stallMs);
        phases_.busyMs += static_cast<double>(ms - stallMs);
        meter.endStep(100, {phases_, {}}, values);
        return values;
    }
    FakeClock clock;
    StepMeter meter{clock};

 private:
    values::PhaseTimes phases_{.startMs = 9'000};
};

TEST_F(StepMeterTest, TheFirstStepHasRatesHoweverShortItWas) {
    EXPECT_EQ(step(1).at(metric::kSamplesPerSecond), 100'000);
    EXPECT_TRUE(step(1).empty());
}

TEST_F(StepMeterTest, RatesAreToldTenTimesASecondAtMost) {
    step(1);
    EXPECT_TRUE(step(98).empty());
    const rank::Values later = step(2, 1);
    EXPECT_NEAR(later.at(metric::kSamplesPerSecond), 300 / 0.101, 1e-6);
    EXPECT_NEAR(later.at(metric::kInputStallPercent), 100 * 1 / 100.0, 1e-9) << "since the first";
    EXPECT_FALSE(meter.ratesDue());
}

TEST_F(StepMeterTest, AFewMillisecondsBehindAPauseSayNothing) {
    step(1);
    clock.advanceMs(5'000);
    meter.restart();
    EXPECT_TRUE(step(19).empty());
    EXPECT_NEAR(step(1).at(metric::kSamplesPerSecond), 200 / 0.020, 1e-6);
}

TEST_F(StepMeterTest, TheSharesOfWaitingWeightedByTimeMakeThatOfTheRun) {
    double waitedMs = 0, sinceMs = 0, toldMs = 0;
    for (int i = 0; i < 400; ++i) {
        // Every seventh step waits long: never one that a point of its own step would be of.
        const std::int64_t stallMs = i % 7 == 3 ? 40 : 0;
        const rank::Values values = step(10 + stallMs, stallMs);
        waitedMs += static_cast<double>(stallMs);
        sinceMs += static_cast<double>(10 + stallMs);
        if (const auto share = values.find(metric::kInputStallPercent); share != values.end()) {
            toldMs += share->second * sinceMs / 100;
            sinceMs = 0;
            EXPECT_NEAR(toldMs, waitedMs, 1e-6) << "step " << i;
        }
    }
    EXPECT_GT(waitedMs, 2'000);
}

}  // namespace
}  // namespace millrace::train
