#include <cmath>

#include <gmock/gmock.h>

#include "backend/core/philox.h"
#include "backend/train/loss.h"
#include "backend/train/metrics.h"

namespace millrace::train {
namespace {

using Predictions = std::vector<std::pair<double, bool>>;

double naiveAuc(const Predictions& predictions) {
    double wins = 0, pairs = 0;
    for (const auto& [p, isPositive] : predictions) {
        for (const auto& [q, other] : predictions) {
            if (isPositive && !other) {
                pairs += 1;
                wins += p > q ? 1 : (p == q ? 0.5 : 0);
            }
        }
    }
    return wins / pairs;
}

TEST(Auc, EqualsTheCountOverAllPairsWithAndWithoutTies) {
    for (std::uint64_t levels : {3U, 10U, 100000U}) {
        Predictions predictions;
        for (std::uint64_t i = 0; i < 400; ++i) {
            const double p = static_cast<double>(philox64(1, levels, i) % levels);
            predictions.emplace_back(p, unitInterval(philox64(2, levels, i)) < 0.3);
        }
        const double expected = naiveAuc(predictions);
        EXPECT_NEAR(exactAuc(predictions), expected, 1e-12) << levels;
    }
}

TEST(Auc, IsOneForAPerfectOrderAndHalfForOneValue) {
    Predictions perfect{{0.9, true}, {0.1, false}, {0.8, true}, {0.2, false}};
    EXPECT_EQ(exactAuc(perfect), 1.0);
    Predictions flat{{0.5, true}, {0.5, false}, {0.5, false}};
    EXPECT_EQ(exactAuc(flat), 0.5);
}

TEST(Auc, IsUndefinedWhenAllLabelsAreOneClass) {
    Predictions positives{{0.5, true}, {0.6, true}};
    EXPECT_TRUE(std::isnan(exactAuc(positives)));
    Predictions none;
    EXPECT_TRUE(std::isnan(exactAuc(none)));
}

TEST(EvalFigures, FollowTheirDefinitions) {
    const std::vector<double> p{0.8, 0.3, 0.6, 0.1};
    const std::vector<float> labels{1, 0, 1, 0};
    EvalAccumulator head;
    head.add(4, p.data(), 1, {labels.data()});
    const EvalFigures f = head.figures();
    const double loss = -(std::log(0.8) + std::log(0.7) + std::log(0.6) + std::log(0.9)) / 4;
    EXPECT_NEAR(f.logLoss, loss, 1e-12);
    EXPECT_NEAR(f.normalizedEntropy, loss / std::log(2.0), 1e-12);
    EXPECT_NEAR(f.calibration, (0.8 + 0.3 + 0.6 + 0.1) / 2, 1e-12);
    EXPECT_EQ(f.auc, 1.0);
    EXPECT_EQ(f.rows, 4);
}

TEST(EvalFigures, PositivesAreTheRowsThatAucCountsSo) {
    const std::vector<double> p{0.8, 0.3, 0.6};
    const std::vector<float> labels{0.8F, 0.2F, 0.6F};
    EvalAccumulator head;
    head.add(3, p.data(), 1, {labels.data()});
    const EvalFigures f = head.figures();
    EXPECT_EQ(f.positives, 2);
    EXPECT_NEAR(f.labelSum, 1.6, 1e-6);
    EXPECT_NEAR(f.calibration, 1.7 / 1.6, 1e-6);
}

TEST(EvalFigures, NormalisedEntropyOfTheBaseRateIsOne) {
    const std::vector<double> p(10, 0.3);
    const std::vector<float> labels{1, 1, 1, 0, 0, 0, 0, 0, 0, 0};
    EvalAccumulator head;
    head.add(10, p.data(), 1, {labels.data()});
    const EvalFigures f = head.figures();
    EXPECT_NEAR(f.normalizedEntropy, 1, 1e-12);
    EXPECT_NEAR(f.calibration, 1, 1e-12);
}

TEST(EvalFigures, LeaveRowsWithoutALabelOutAndCountThem) {
    const std::vector<double> p{0.9, 0.5, 0.1};
    const std::vector<float> labels{1, 0, 0};
    const std::vector<std::uint8_t> masks{1, 0, 1};
    EvalAccumulator head;
    head.add(3, p.data(), 1, {labels.data(), nullptr, masks.data()});
    const EvalFigures f = head.figures();
    EXPECT_EQ(f.rows, 2);
    EXPECT_EQ(f.rowsWithoutLabel, 1);
    EXPECT_NEAR(f.logLoss, -std::log(0.9), 1e-12);
}

TEST(EvalFigures, AreUnweighted) {
    const std::vector<double> p{0.9, 0.2};
    const std::vector<float> labels{1, 0}, weights{100, 1};
    EvalAccumulator with, without;
    with.add(2, p.data(), 1, {labels.data(), weights.data()});
    without.add(2, p.data(), 1, {labels.data()});
    EXPECT_EQ(with.figures().logLoss, without.figures().logLoss);
}

TEST(EvalFigures, ReadTheirOwnHeadOfSeveral) {
    const std::vector<double> p{0.9, 0.1, 0.2, 0.7};  // [2 rows, 2 heads]
    const std::vector<float> labels{1, 0};
    EvalAccumulator first, second;
    first.add(2, p.data(), 2, {labels.data()});
    second.add(2, p.data() + 1, 2, {labels.data()});
    EXPECT_EQ(first.figures().auc, 1.0);
    EXPECT_EQ(second.figures().auc, 0.0);
}

TEST(EvalFigures, OfOneClassAreUndefinedButTheLogLossIsNot) {
    const std::vector<double> p{0.9, 0.8};
    const std::vector<float> labels{0, 0};
    EvalAccumulator head;
    head.add(2, p.data(), 1, {labels.data()});
    const EvalFigures f = head.figures();
    EXPECT_TRUE(std::isnan(f.auc));
    EXPECT_TRUE(std::isnan(f.normalizedEntropy));
    EXPECT_TRUE(std::isnan(f.calibration));
    EXPECT_GT(f.logLoss, 1);
}

TEST(EvalFigures, StayFiniteForCertainPredictions) {
    const std::vector<double> p{1.0, 0.0};
    const std::vector<float> labels{0, 1};
    EvalAccumulator head;
    head.add(2, p.data(), 1, {labels.data()});
    EXPECT_TRUE(std::isfinite(head.figures().logLoss));
}

TEST(LossSums, WeighAndMaskEachHead) {
    const std::vector<float> labels{1, 0, 1}, weights{2, 1, 5};
    const std::vector<std::uint8_t> masks{1, 1, 0};
    BatchView batch;
    batch.rows = 3;
    batch.heads = {{labels.data(), weights.data(), masks.data()}, {labels.data()}};
    LossSums sums;
    addLoss(batch, {0.8, 0.5, 0.4, 0.5, 0, 0.5}, sums);
    EXPECT_EQ(sums.weight[0], 3);
    EXPECT_EQ(sums.weight[1], 3);
    EXPECT_NEAR(sums.loss[0], -2 * std::log(0.8) - std::log(0.6), 1e-12);
    EXPECT_NEAR(sums.mean(), (sums.loss[0] + sums.loss[1]) / 6, 1e-12);
    EXPECT_NEAR(sums.meanOf(0), sums.loss[0] / 3, 1e-12);
}

}  // namespace
}  // namespace millrace::train
