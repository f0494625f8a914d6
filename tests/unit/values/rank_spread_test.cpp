#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "backend/values/metric_line.h"

namespace millrace::values {
namespace {

TEST(RankSpread, HasTheEndsTheirRanksAndTheMedian) {
    const RankSummary odd = summarize({{0, 5}, {1, 9}, {2, 1}});
    EXPECT_EQ(odd.median, 5);
    EXPECT_EQ(odd.ranks, (RankSpread{1, 9, 2, 1, 3}));
    EXPECT_EQ(summarize({{7, 4}}).ranks, (RankSpread{4, 4, 7, 7, 1}));
    EXPECT_EQ(summarize({{0, 1}, {1, 2}, {2, 3}, {3, 4}}).median, 2) << "the lower of two";
}

TEST(RankSpread, OfEqualsTheLowestRankHoldsTheEndAndOfARankTheLastWordCounts) {
    EXPECT_EQ(summarize({{3, 2}, {1, 2}, {2, 2}}).ranks, (RankSpread{2, 2, 1, 1, 3}));
    EXPECT_EQ(summarize({{0, 1}, {1, 5}, {1, 7}}).ranks, (RankSpread{1, 7, 0, 1, 2}));
}

TEST(RankSpread, NanHidesNoNumber) {
    const double nan = std::nan("");
    const RankSummary some = summarize({{0, nan}, {1, 3}, {2, nan}});
    EXPECT_EQ(some.median, 3);
    EXPECT_EQ(some.ranks, (RankSpread{3, 3, 1, 1, 3}));
    EXPECT_TRUE(std::isnan(summarize({{0, nan}}).ranks.least));
    const RankSummary late = joined(summarize({{0, nan}}), summarize({{1, 4}}));
    EXPECT_EQ(late.ranks.least, 4);
    EXPECT_EQ(late.ranks.numRanks, 2);
}

TEST(RankSpread, TwoPartsOfAStepHaveTheEndsOfTheWhole) {
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
        std::vector<RankValue> all, first, second;
        for (int rank = 0; rank < 20; ++rank) {
            all.push_back({rank, static_cast<double>(random() % 1'000'000)});
            (rank < 13 ? first : second).push_back(all.back());
        }
        const RankSummary whole = summarize(all),
                          parts = joined(summarize(first), summarize(second));
        EXPECT_EQ(parts.ranks, whole.ranks);
        EXPECT_EQ(parts.median, summarize(first).median) << "of the greater part";
    }
}

TEST(RankSpread, TheEndsOfASeriesSayWhereAndWhose) {
    MetricPoint plain, spread;
    plain.step = 3;
    plain.value = 5;
    spread.step = 4;
    spread.value = 5;
    spread.ranks = RankSpread{-1, 90, 2, 511, 512};
    const auto ends = endsOf(std::vector{plain, spread});
    ASSERT_TRUE(ends);
    EXPECT_EQ(ends->least, (SeriesEnd{-1, 4, 2}));
    EXPECT_EQ(ends->greatest, (SeriesEnd{90, 4, 511}));
    EXPECT_EQ(endsOf(std::vector{plain})->least, (SeriesEnd{5, 3, kNoRank}));
    EXPECT_FALSE(endsOf({}));
}

TEST(RankSpread, WhatARankMeasuresOfItselfIsNotTheRunsOwn) {
    for (const char* name : {"input_stall_percent", "trainer.cpu_percent", "rank.step_seconds",
                             "system.rank.memory_bytes"}) {
        EXPECT_TRUE(isRankMetric(name)) << name;
    }
    for (const char* name : {"loss", "samples_per_second", "eval.auc", "system.cpu_percent"}) {
        EXPECT_FALSE(isRankMetric(name)) << name;
    }
}

}  // namespace
}  // namespace millrace::values
