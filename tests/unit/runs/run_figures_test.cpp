// A run's figures in lists, which need no series: best values, the mean rate.
#include "backend/runs/run_figures.h"

#include <cmath>
#include <limits>

#include "tests/unit/runs/fixture.h"

namespace millrace::runs {
namespace {

class RunFiguresTest : public RunStoreTest {
 protected:
    RunFiguresTest() : id(create("base")) { EXPECT_TRUE(store->beginAttempt(id, 1, 0).ok()); }

    void evaluate(int attempt, std::int64_t seq, std::int64_t step, double auc, double entropy) {
        LineBatch batch{id, attempt, "rank0", seq};
        batch.rank = 0;
        batch.metrics.push_back(
            {seq,
             step,
             0,
             step * 10,
             1'000 * seq,
             {{"eval.auc", auc}, {"eval.normalized_entropy", entropy}, {"eval.calibration", 1.1}}});
        ASSERT_TRUE(store->commitLines(batch).ok());
    }
    /// A step of 100 rows that ended at `timeMs`.
    void step(int attempt, std::int64_t number, std::int64_t timeMs) {
        LineBatch batch{id, attempt, "rank0", number};
        batch.rank = 0;
        batch.metrics.push_back({number, number, 0, number * 100, timeMs, {{"loss", 0.5}}});
        ASSERT_TRUE(store->commitLines(batch).ok());
    }
    double rate() const { return store->list({}).value().runs.at(0).meanRate.value_or(0); }
    values::MetricPoint best(const std::string& key) const {
        const values::RunSummary run = store->list({}).value().runs.at(0);
        const values::RunFigure* best = run.best(key);
        return best == nullptr ? values::MetricPoint{-1}
                               : values::MetricPoint{best->step, 0, 0, 0, best->value};
    }

    std::string id;
};

TEST_F(RunFiguresTest, TheBestOfEachEvaluationMetricStandsInTheList) {
    evaluate(1, 1, 100, 0.7, 0.9);
    evaluate(1, 2, 200, 0.8, 0.8);
    evaluate(1, 3, 300, 0.75, 0.85);
    EXPECT_EQ(best("eval.auc").step, 200);
    EXPECT_EQ(best("eval.auc").value, 0.8);
    EXPECT_EQ(best("eval.normalized_entropy").step, 200) << "less is better";
    EXPECT_EQ(best("eval.calibration").step, -1) << "nobody knows which way is better";
    const RunRecord run = store->get(id).value();
    EXPECT_EQ(run.newest("eval.auc")->value, 0.75);
    EXPECT_EQ(run.best("eval.auc")->step, 200);
    EXPECT_EQ(run.best("loss"), nullptr);
}

// The rank began to count 300 ms after the attempt was made; the second attempt reported nothing.
TEST_F(RunFiguresTest, TimesAreSummedOverAttemptsAndNobodysTimeIsTheStart) {
    EXPECT_FALSE(store->list({}).value().runs.at(0).progress.times.has_value());
    const auto report = [&](const values::PhaseTimes& counted, std::int64_t seq) {
        LineBatch batch{id, 1, "rank0", seq};
        batch.progress = Progress{seq, 0, 0, 0, "training", counted};
        ASSERT_TRUE(store->commitLines(batch).ok());
    };
    clock.advanceMs(1'000);
    report({500, 100, 0, 0, 100}, 1);
    clock.advanceMs(1'000);
    report({800, 500, 200, 100, 100}, 2);
    EXPECT_EQ(store->get(id)->progress.times, (values::PhaseTimes{800, 500, 200, 100, 400}));
    clock.advanceMs(250);  // it died
    ASSERT_TRUE(store->beginAttempt(id, 2, 0).ok());
    EXPECT_EQ(store->get(id)->progress.times, (values::PhaseTimes{800, 500, 200, 100, 650}));
    clock.advanceMs(400);
    ASSERT_TRUE(store->setState(id, {values::RunState::kFailed, "it broke", 2}).ok());
    EXPECT_EQ(store->get(id)->progress.times, (values::PhaseTimes{800, 500, 200, 100, 1'050}));
    EXPECT_DOUBLE_EQ(store->get(id)->stallPercent().value(), 100 * 500 / 2'650.0);
    clock.advanceMs(86'400'000);
    ASSERT_TRUE(store->requeue(id, 0, {}).ok());
    ASSERT_TRUE(store->beginAttempt(id, 3, 0).ok());
    EXPECT_EQ(store->get(id)->progress.times->sum(), 2'650) << "a day in which it was stopped";
    EXPECT_EQ(store->attempts(id)->front().times, (values::PhaseTimes{800, 500, 200, 100, 650}));
}

TEST_F(RunFiguresTest, WhatFollowsTheLastReportOfARunIsItsEnding) {
    LineBatch batch{id, 1, "rank0", 1};
    batch.progress = Progress{5, 0, 0, 0, "ending", {800, 0, 0, 0, 100, 600}};
    clock.advanceMs(1'500);
    ASSERT_TRUE(store->commitLines(batch).ok());
    clock.advanceMs(25'000);  // handlers of the interpreter's exit
    ASSERT_TRUE(store->setState(id, {values::RunState::kFinished, "", 1}).ok());
    EXPECT_EQ(store->get(id)->progress.times, (values::PhaseTimes{800, 0, 0, 0, 100, 25'600}));
}

TEST_F(RunFiguresTest, TheFirstOfEqualsIsTheBestAndNanNeverIs) {
    evaluate(1, 1, 100, std::nan(""), 1);
    EXPECT_EQ(best("eval.auc").step, -1);
    evaluate(1, 2, 200, 0.8, 1);
    evaluate(1, 3, 300, 0.8, 1);
    EXPECT_EQ(best("eval.auc").step, 200);
    evaluate(1, 4, 50, 0.8, 1);
    EXPECT_EQ(best("eval.auc").step, 50) << "a late line of an earlier step";
    evaluate(1, 5, 400, std::numeric_limits<double>::infinity(), 1);
    EXPECT_EQ(best("eval.auc").step, 400);
}

TEST_F(RunFiguresTest, AnAttemptThatGoesBackTakesTheBestBehindItWithIt) {
    evaluate(1, 1, 100, 0.7, 0.9);
    evaluate(1, 2, 200, 0.8, 0.8);
    evaluate(1, 3, 300, 0.9, 0.7);
    ASSERT_TRUE(store->beginAttempt(id, 2, 250).ok());
    EXPECT_EQ(best("eval.auc").step, 300) << "it has not begun";
    ASSERT_TRUE(work(id, 2).ok());
    EXPECT_EQ(best("eval.auc").step, 200);
    EXPECT_EQ(best("eval.auc").value, 0.8);
    EXPECT_EQ(best("eval.normalized_entropy").value, 0.8);
    evaluate(2, 1, 200, 0.6, 0.95);
    EXPECT_EQ(best("eval.auc").step, 100) << "of one step the newest attempt counts";
    evaluate(1, 4, 200, 0.99, 0.1);
    EXPECT_EQ(best("eval.auc").step, 100) << "a late line of the attempt before does not";
    reopen();
    ASSERT_TRUE(store->beginAttempt(id, 3, 0).ok());
    ASSERT_TRUE(work(id, 3).ok());
    EXPECT_EQ(best("eval.auc").step, -1);
}

TEST_F(RunFiguresTest, TheRateIsRowsOverTheTimeOfTheSteps) {
    EXPECT_EQ(rate(), 0) << "not known";
    step(1, 1, 10'000);
    EXPECT_EQ(rate(), 0) << "nobody knows when the first step began";
    step(1, 2, 10'010);
    step(1, 3, 10'030);
    EXPECT_EQ(rate(), 200 / 0.030);
}

TEST_F(RunFiguresTest, AnEvaluationIsNoTimeOfAStep) {
    step(1, 1, 10'000);
    step(1, 2, 10'010);
    LineBatch batch{id, 1, "rank0", 3};
    batch.rank = 0;
    batch.metrics.push_back({3, 2, 0, 200, 19'990, {{"eval.auc", 0.7}}});
    ASSERT_TRUE(store->commitLines(batch).ok());
    step(1, 4, 20'000);
    EXPECT_EQ(rate(), (100 + 200) / 0.020) << "the ten seconds between count for nothing";
}

TEST_F(RunFiguresTest, APauseBetweenTwoAttemptsIsNoTimeOfAStep) {
    step(1, 1, 10'000);
    step(1, 2, 10'010);
    ASSERT_TRUE(store->beginAttempt(id, 2, 2).ok());
    LineBatch batch{id, 2, "rank0", 2};
    batch.rank = 0;
    batch.metrics.push_back({1, 3, 0, 300, 500'000, {{"loss", 0.5}}});
    batch.metrics.push_back({2, 4, 0, 400, 500'010, {{"loss", 0.5}}});
    ASSERT_TRUE(store->commitLines(batch).ok());
    EXPECT_EQ(rate(), 200 / 0.020);
}

TEST_F(RunFiguresTest, AListWithoutMetricsHasNoBestEither) {
    evaluate(1, 1, 100, 0.7, 0.9);
    RunQuery query;
    query.withMetrics = false;
    EXPECT_TRUE(store->list(query).value().runs.at(0).bestMetrics.empty());
}

}  // namespace
}  // namespace millrace::runs
