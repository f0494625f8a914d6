#include "backend/train/loop/step_meter.h"

#include <gtest/gtest.h>

#include "backend/values/metric_names.h"
#include "tests/support/fake_clock.h"

namespace millrace::train {
namespace {

namespace metric = values::metric;

class StepMeterTest : public ::testing::Test {
 protected:
    /// What a step of 100 rows says of the rates, so long after the one before.
    rank::Values step(std::int64_t ms, std::int64_t stallMs = 0) {
        constexpr std::int64_t kNsPerMs = 1'000'000;
        clock.advanceMs(ms);
        rank::Values values;
        stallNs_ += stallMs * kNsPerMs;
        meter.endStep(100, {stallNs_, {}}, values);
        return values;
    }
    FakeClock clock;
    StepMeter meter{clock};

 private:
    std::int64_t stallNs_ = 0;
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
    EXPECT_NEAR(later.at(metric::kInputStallPercent), 100 * 1 / 101.0, 1e-9);
    EXPECT_FALSE(meter.ratesDue());
}

TEST_F(StepMeterTest, AFewMillisecondsBehindAPauseSayNothing) {
    step(1);
    clock.advanceMs(5'000);
    meter.restart(0);
    EXPECT_TRUE(step(19).empty());
    EXPECT_NEAR(step(1).at(metric::kSamplesPerSecond), 200 / 0.020, 1e-6);
}

}  // namespace
}  // namespace millrace::train
