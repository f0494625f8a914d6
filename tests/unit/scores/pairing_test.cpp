#include "backend/scores/pairing.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace millrace::scores {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

Scores of(std::vector<std::uint64_t> keys, std::vector<float> scores, std::vector<float> labels) {
    const std::uint64_t rows = keys.size();
    return {1, rows, "", std::move(keys), {{"liked", std::move(scores), std::move(labels)}}};
}

TEST(Pairing, IsTheMeanDifferenceOverTheRowsOfBoth) {
    const Scores a = of({1, 3, 5, 7}, {0.5F, 0.5F, 0.5F, 0.5F}, {1, 0, 1, kNone});
    const Scores b = of({3, 5, 6, 7, 9}, {0.25F, 0.75F, 0.1F, 0.3F, 0.2F}, {0, 1, 1, kNone, 0});
    const Pairing pairing = pairScores(a, b);
    EXPECT_EQ(pairing.rows, 3);
    EXPECT_DOUBLE_EQ(pairing.share, 0.6);
    EXPECT_FALSE(pairing.isSample);
    ASSERT_EQ(pairing.heads.size(), 1U);
    const PairedHead& head = pairing.heads[0];
    EXPECT_EQ(head.rows, 2);
    EXPECT_EQ(head.otherLabels, 0);
    EXPECT_DOUBLE_EQ(head.first, std::log(2.0));
    EXPECT_DOUBLE_EQ(head.second, -std::log(0.75));
    EXPECT_DOUBLE_EQ(head.difference, head.second - head.first);
}

TEST(Pairing, RowsOfOtherLabelsAreLeftOutAndCounted) {
    const Scores a = of({1, 2, 3}, {0.5F, 0.5F, 0.5F}, {1, 1, kNone});
    const Scores b = of({1, 2, 3}, {0.5F, 0.5F, 0.5F}, {1, 0, 1});
    const PairedHead head = pairScores(a, b).heads.at(0);
    EXPECT_EQ(head.rows, 1);
    EXPECT_EQ(head.otherLabels, 2);
    EXPECT_DOUBLE_EQ(head.share, 1.0 / 3) << "of the three rows that the second has labels for";
}

TEST(Pairing, OfASampleOnlyTheKeysCountThatBothKept) {
    Scores a = of({1, 2, 3}, {0.5F, 0.5F, 0.5F}, {1, 0, 1});
    a.rowsEvaluated = 100;
    const Scores b = of({1, 2, 3, 4, 5, 6}, std::vector<float>(6, 0.5F), std::vector<float>(6, 1));
    const Pairing pairing = pairScores(a, b);
    EXPECT_TRUE(pairing.isSample);
    EXPECT_EQ(pairing.rows, 3);
    EXPECT_DOUBLE_EQ(pairing.share, 1);
}

TEST(Pairing, OfNothingIsNothing) {
    const Pairing pairing = pairScores(of({1}, {0.5F}, {1}), of({2}, {0.5F}, {1}));
    EXPECT_EQ(pairing.rows, 0);
    EXPECT_EQ(pairing.share, 0);
    EXPECT_TRUE(std::isnan(pairing.heads.at(0).difference));
    Scores other = of({1}, {0.5F}, {1});
    other.heads[0].name = "seen";
    EXPECT_TRUE(pairScores(of({1}, {0.5F}, {1}), other).heads.empty());
}

}  // namespace
}  // namespace millrace::scores
