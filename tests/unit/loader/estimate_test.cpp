// Ratio estimates over splits: their values, and how often their intervals hold.
#include "daemon/worker/loader/questions/estimate.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include <gtest/gtest.h>

namespace millrace::loader {
namespace {

TEST(EstimateTest, AllSplitsGiveTheExactFigure) {
    const Estimate estimate = ratioPerRow({{100, 10}, {300, 50}}, 2);
    EXPECT_DOUBLE_EQ(estimate.value, 60.0 / 400);
    EXPECT_TRUE(estimate.isExact);
    EXPECT_EQ(estimate.standardError, 0);
    EXPECT_EQ(estimate.low, estimate.high);
}

TEST(EstimateTest, OneSplitOfManyHasNoKnownError) {
    const Estimate estimate = ratioPerRow({{100, 10}}, 9);
    EXPECT_DOUBLE_EQ(estimate.value, 0.1);
    EXPECT_FALSE(estimate.isErrorKnown);
    EXPECT_TRUE(estimate.toJson()["low"].is_null());
    EXPECT_FALSE(estimate.toJson()["exact"]);
}

// By hand: ratio 0.2, residuals -1, 1, 0; s^2 = 1; (1 - 3/30) / 3 / 10^2.
TEST(EstimateTest, TheStandardErrorIsThatOfTheRatio) {
    const Estimate estimate = ratioPerRow({{10, 1}, {10, 3}, {10, 2}}, 30);
    EXPECT_NEAR(estimate.standardError, std::sqrt(0.9 / 3) / 10, 1e-12);
    EXPECT_NEAR(estimate.high, 0.2 + 4.303 * estimate.standardError, 1e-9);
    EXPECT_GE(estimate.low, 0);
}

TEST(EstimateTest, RowsOfTheSameKindInASplitMakeTheIntervalWide) {
    const Estimate even = ratioPerRow({{10, 5}, {10, 5}, {10, 5}, {10, 5}}, 100);
    const Estimate clumped = ratioPerRow({{10, 10}, {10, 0}, {10, 10}, {10, 0}}, 100);
    EXPECT_EQ(even.value, clumped.value);
    EXPECT_EQ(even.standardError, 0);
    EXPECT_GT(clumped.standardError, 0.2);
}

// Splits of different sizes and shares; 12 of 200 are drawn, 400 times.
TEST(EstimateTest, NineteenOfTwentyIntervalsHoldTheTruth) {
    std::mt19937 random(3);
    std::vector<ClusterValue> population;
    double rows = 0, values = 0;
    for (int i = 0; i < 200; ++i) {
        const double size = 500 + static_cast<double>(random() % 1000);
        const double share = 0.1 + 0.05 * static_cast<double>(random() % 100) / 100;
        population.push_back({size, std::floor(size * share)});
        rows += population.back().rows;
        values += population.back().value;
    }
    int held = 0;
    constexpr int kTrials = 400;
    for (int trial = 0; trial < kTrials; ++trial) {
        std::shuffle(population.begin(), population.end(), random);
        const Estimate estimate = ratioPerRow({population.begin(), population.begin() + 12}, 200);
        held += estimate.low <= values / rows && values / rows <= estimate.high ? 1 : 0;
    }
    EXPECT_GT(held, kTrials * 91 / 100);
    EXPECT_LT(held, kTrials) << "an interval that always holds is too wide";
}

TEST(EstimateTest, TimesPerRowBecomeRowsPerTime) {
    Estimate estimate;
    estimate.value = 0.5;
    estimate.low = 0.25;
    estimate.high = 1;
    const Estimate rate = estimate.inverted(1);
    EXPECT_EQ(rate.value, 2);
    EXPECT_EQ(rate.low, 1);
    EXPECT_EQ(rate.high, 4);
    EXPECT_EQ(estimate.scaled(10).high, 10);
    estimate.low = 0;
    EXPECT_TRUE(estimate.inverted(1).toJson()["high"].is_null()) << "any rate";
}

TEST(EstimateTest, NoRowsGiveNothing) {
    EXPECT_EQ(ratioPerRow({}, 5).value, 0);
    EXPECT_EQ(ratioPerRow({{0, 0}}, 5).value, 0);
}

}  // namespace
}  // namespace millrace::loader
