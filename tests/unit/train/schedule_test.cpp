// Learning rates over the steps, clipping, and which outputs a row goes without.
#include "backend/train/schedule.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "backend/train/dropout.h"
#include "tests/unit/train/fakes.h"

namespace millrace::train {
namespace {

using Kind = ScheduleOptions::Kind;

TEST(Schedule, GrowsOverTheWarmUpAndThenStays) {
    const ScheduleOptions schedule{Kind::kConstant, 4};
    EXPECT_DOUBLE_EQ(rateFactor(schedule, 1), 0.25);
    EXPECT_DOUBLE_EQ(rateFactor(schedule, 3), 0.75);
    EXPECT_EQ(rateFactor(schedule, 4), 1);
    EXPECT_EQ(rateFactor(schedule, 4000), 1);
    EXPECT_EQ(rateFactor(ScheduleOptions(), 1), 1);
}

TEST(Schedule, ReachesItsEndAtTheStepThatItNamesAndStaysThere) {
    for (const Kind kind : {Kind::kLinear, Kind::kCosine}) {
        const ScheduleOptions schedule{kind, 10, 110, 0.2};
        EXPECT_DOUBLE_EQ(rateFactor(schedule, 5), 0.5);
        EXPECT_DOUBLE_EQ(rateFactor(schedule, 10), 1);
        EXPECT_NEAR(rateFactor(schedule, 60), 0.6, 1e-12) << "half of the way";
        EXPECT_NEAR(rateFactor(schedule, 110), 0.2, 1e-12);
        EXPECT_NEAR(rateFactor(schedule, 1000), 0.2, 1e-12);
    }
    const ScheduleOptions cosine{Kind::kCosine, 0, 100, 0};
    EXPECT_NEAR(rateFactor(cosine, 25), (1 + std::sqrt(0.5)) / 2, 1e-12);
}

TEST(Schedule, StepsDownAtIntervals) {
    const ScheduleOptions schedule{Kind::kStep, 0, 0, 0, 10, 0.5};
    EXPECT_EQ(rateFactor(schedule, 10), 1);
    EXPECT_EQ(rateFactor(schedule, 11), 0.5);
    EXPECT_EQ(rateFactor(schedule, 21), 0.25);
}

TEST(Clipping, DividesWhatIsTooLargeOnly) {
    EXPECT_EQ(clipDivisor(100, 0), 1);
    EXPECT_EQ(clipDivisor(0.5, 1), 1);
    EXPECT_NEAR(clipDivisor(4, 2), 2, 1e-6);
}

TEST(Clipping, GradientsHaveTheNormOfTheirMeanLoss) {
    // With SGD at rate 1 the weights move by the clipped gradient: by the limit, all together.
    LearnerOptions options = test::smallModel("mlp");
    options.optimizer.kind = OptimizerKind::kSgd;
    options.optimizer.learningRate = 1;
    options.clipNorm = 0.01;
    for (const char* precision : {"fp32", "fp64"}) {
        options.precision = precision;
        const auto learner = test::learnerOf(options);
        const auto weights = [&] {
            std::vector<double> out;
            for (const TensorRef& t : learner->tensors()) {
                for (std::int64_t i = 0;
                     t.isWeight && t.name.rfind("input.", 0) != 0 && i < t.numElements(); ++i) {
                    out.push_back(t.type == DType::kFloat64 ? static_cast<double*>(t.data)[i]
                                                            : static_cast<float*>(t.data)[i]);
                }
            }
            return out;
        };
        const std::vector<double> was = weights();
        LossSums sums;
        const test::Columns columns = test::rowsOf(5, 0, 64);
        ASSERT_TRUE(learner->accumulate(columns.view(), sums).ok());
        UpdateFigures figures;
        ASSERT_TRUE(learner->apply(sums.totalWeight(), &figures).ok());
        const std::vector<double> is = weights();
        double squares = 0;
        for (std::size_t i = 0; i < is.size(); ++i) {
            squares += (is[i] - was[i]) * (is[i] - was[i]);
        }
        EXPECT_NEAR(std::sqrt(squares), 0.01, 1e-6) << precision;
        EXPECT_GT(figures.gradientNorm, 0.02) << "told before clipping";
        EXPECT_EQ(figures.learningRate, 1);
    }
}

TEST(Dropout, IsAFunctionOfTheRowAlone) {
    const test::Columns all = test::rowsOf(5, 0, 64), part = test::rowsOf(5, 40, 64);
    const BatchView whole = all.view(), rest = part.view();
    const auto a = Dropout{0.4, 7, &whole}.kept(2, 10), b = Dropout{0.4, 7, &rest}.kept(2, 10);
    EXPECT_TRUE(std::equal(b.begin(), b.end(), a.begin() + 400))
        << "whatever other rows the batch has";
    EXPECT_NE(a, (Dropout{0.4, 7, &whole}.kept(3, 10))) << "another layer";
    EXPECT_NE(a, (Dropout{0.4, 8, &whole}.kept(2, 10))) << "another seed";
    BatchView later = whole;
    later.epoch = 1;
    EXPECT_NE(a, (Dropout{0.4, 7, &later}.kept(2, 10))) << "another epoch";
}

TEST(Dropout, LeavesOutItsShare) {
    const test::Columns columns = test::rowsOf(5, 0, 1000);
    const BatchView batch = columns.view();
    const Dropout dropout{0.25, 3, &batch};
    const auto kept = dropout.kept(0, 64);
    const double share = std::accumulate(kept.begin(), kept.end(), 0.0) / 64000;
    EXPECT_NEAR(share, 0.75, 0.01);  // six deviations
    EXPECT_NEAR(dropout.scale(), 1 / 0.75, 1e-12);
}

TEST(Dropout, IsForTrainingAlone) {
    LearnerOptions options = test::smallModel("mlp");
    const auto plain = test::learnerOf(options);
    options.dropout = 0.5;
    const auto thinned = test::learnerOf(options);
    const test::Columns columns = test::rowsOf(5, 0, 64);
    std::vector<double> a, b;
    ASSERT_TRUE(plain->predict(columns.view(), a).ok() && thinned->predict(columns.view(), b).ok());
    EXPECT_EQ(a, b);
    LossSums p, t;
    ASSERT_TRUE(plain->accumulate(columns.view(), p).ok() &&
                thinned->accumulate(columns.view(), t).ok());
    ASSERT_TRUE(plain->collect(p).ok() && thinned->collect(t).ok());
    EXPECT_NE(p.mean(), t.mean());
}

}  // namespace
}  // namespace millrace::train
