#include <cmath>
#include <limits>

#include "backend/runs/metrics/decimate.h"
#include "tests/unit/runs/fixture.h"

namespace millrace::runs {
namespace {

std::vector<double> valuesOf(const values::MetricSeries& series) {
    std::vector<double> values;
    for (const values::MetricPoint& point : series.points) {
        values.push_back(point.value);
    }
    return values;
}

class RunMetricsTest : public RunStoreTest {
 protected:
    RunMetricsTest() : id(create("base")) { EXPECT_TRUE(store->beginAttempt(id, 1, 0).ok()); }
    std::string id;
};

TEST_F(RunMetricsTest, MetricsComeBackInOrderWithEverythingTheyCameWith) {
    ASSERT_TRUE(append(id, 1, 1, 0.7).ok());
    ASSERT_TRUE(append(id, 1, 2, 0.5).ok());
    reopen();
    const values::MetricSeries series = *store->metrics(id, "loss");
    ASSERT_EQ(series.points.size(), 2U);
    EXPECT_EQ(series.points[1],
              (values::MetricPoint{2, 0, 20, clock.wallMs(), 0.5, 1, std::nullopt, 2}));
    EXPECT_EQ(store->get(id)->newest("loss")->value, 0.5);
    EXPECT_EQ(*store->metricKeys(id), std::vector<std::string>{"loss"});
    EXPECT_TRUE(store->metrics(id, "other")->points.empty());
}

TEST_F(RunMetricsTest, NanAndInfinityAreKept) {
    const double inf = std::numeric_limits<double>::infinity();
    ASSERT_TRUE(append(id, 1, 1, std::nan("")).ok());
    ASSERT_TRUE(append(id, 1, 2, -inf).ok());
    const values::MetricSeries series = *store->metrics(id, "loss");
    EXPECT_TRUE(std::isnan(series.points[0].value));
    EXPECT_EQ(series.points[1].value, -inf);
}

TEST_F(RunMetricsTest, AResentLineIsIgnoredAndAcknowledgedAgain) {
    ASSERT_TRUE(append(id, 1, 1, 0.7).ok());
    LineBatch again{id, 1, "rank0", 2};
    again.rank = 0;
    again.metrics.push_back({1, 1, 0, 10, 0, {{"loss", 99}}});
    again.metrics.push_back({2, 2, 0, 20, 0, {{"loss", 0.5}}});
    const auto commit = store->commitLines(again);
    ASSERT_TRUE(commit.ok());
    EXPECT_EQ(commit->numIgnored, 1);
    EXPECT_EQ(valuesOf(*store->metrics(id, "loss")), (std::vector<double>{0.7, 0.5}));
    const auto old = store->commitLines({id, 1, "rank0", 1});
    EXPECT_EQ(*store->ackedSeq(id, 1, "rank0"), 2);
}

TEST_F(RunMetricsTest, SequenceNumbersAreEachWorkersAndEachAttemptsOwn) {
    ASSERT_TRUE(append(id, 1, 5, 1).ok());
    EXPECT_EQ(*store->ackedSeq(id, 1, "feed"), 0);
    ASSERT_TRUE(store->beginAttempt(id, 2, 5).ok());
    EXPECT_EQ(*store->ackedSeq(id, 2, "rank0"), 0);
}

TEST_F(RunMetricsTest, AResumedAttemptReplacesWhatCameAfterItsCheckpoint) {
    for (int step = 1; step <= 6; ++step) {
        ASSERT_TRUE(append(id, 1, step, step).ok());
    }
    ASSERT_TRUE(store->beginAttempt(id, 2, 3).ok());
    ASSERT_TRUE(append(id, 2, 4, 40).ok());
    EXPECT_EQ(valuesOf(*store->metrics(id, "loss")), (std::vector<double>{1, 2, 3, 40}));
    EXPECT_EQ(store->get(id)->newest("loss")->value, 40);
    EXPECT_EQ(store->get(id)->restarts, 0) << "a resume is not a restart";
}

TEST_F(RunMetricsTest, LateLinesOfAnOldAttemptAreStoredButOnlySeenUpToTheCheckpoint) {
    ASSERT_TRUE(append(id, 1, 1, 1).ok());
    ASSERT_TRUE(store->beginAttempt(id, 2, 2).ok());
    ASSERT_TRUE(work(id, 2).ok());
    ASSERT_TRUE(append(id, 1, 2, 2).ok());
    ASSERT_TRUE(append(id, 1, 3, 3).ok());
    EXPECT_EQ(*store->ackedSeq(id, 1, "rank0"), 3);
    EXPECT_EQ(valuesOf(*store->metrics(id, "loss")), (std::vector<double>{1, 2}));
    EXPECT_EQ(store->get(id)->newest("loss")->value, 2);
}

TEST_F(RunMetricsTest, OnlyTheNewestAttemptMovesProgressAndCheckpoints) {
    ASSERT_TRUE(store->beginAttempt(id, 2, 0).ok());
    LineBatch batch{id, 1, "rank0", 9};
    batch.rank = 0;
    batch.progress = Progress{7, 1, 700, 10, "training"};
    batch.checkpoints.push_back({1, 8, 7, 1, "step-00000007.a1.safetensors", 5, "h", "c", 1});
    const auto old = store->commitLines(batch);
    ASSERT_TRUE(old.ok());
    EXPECT_TRUE(old->isOldAttempt);
    EXPECT_EQ(store->get(id)->progress.step, 0);
    EXPECT_TRUE(store->checkpoints(id)->empty());
    batch.attempt = 2;
    ASSERT_TRUE(store->commitLines(batch).ok());
    const RunRecord run = *store->get(id);
    EXPECT_EQ(run.progress.step, 7);
    EXPECT_EQ(run.progress.stepsTotal, 10);
    EXPECT_EQ(run.progress.rows, 700);
    EXPECT_EQ(run.progress.phase, values::Phase::kTraining);
    ASSERT_EQ(store->checkpoints(id)->size(), 1U);
    EXPECT_EQ(store->checkpoints(id)->at(0).attempt, 2);
}

TEST_F(RunMetricsTest, AStepThatOnlyItsMetricsToldIsTheRuns) {
    LineBatch batch{id, 1, "rank0", 2};
    batch.rank = 0;
    batch.progress = Progress{3, 0, 300, 10, "training"};
    batch.metrics = {{2, 5, 1, 500, 10, {{"loss", 1}}}};
    ASSERT_TRUE(store->commitLines(batch).ok());
    LineBatch feed{id, 1, "feed", 1};
    feed.metrics = {{1, 9, 0, 900, 10, {{"loader.cpu_percent", 70}}}};
    ASSERT_TRUE(store->commitLines(feed).ok());
    const RunRecord run = *store->get(id);
    EXPECT_EQ(run.progress.step, 5);
    EXPECT_EQ(run.progress.epoch, 1);
    EXPECT_EQ(run.progress.rows, 500);
    EXPECT_EQ(run.progress.phase, values::Phase::kTraining);
}

TEST_F(RunMetricsTest, AnAttemptThatHasNotBegunIsRefused) {
    EXPECT_EQ(store->commitLines({id, 2, "rank0", 1}).status().code(),
              absl::StatusCode::kFailedPrecondition);
    EXPECT_TRUE(store->beginAttempt(id, 1, 0).ok()) << "twice is the same as once";
    ASSERT_TRUE(store->beginAttempt(id, 3, 0).ok());
    EXPECT_FALSE(store->beginAttempt(id, 2, 0).ok());
}

TEST_F(RunMetricsTest, CheckpointsAreListedNewestFirstUntilTheyAreDeleted) {
    LineBatch batch{id, 1, "rank0", 2};
    batch.rank = 0;
    batch.checkpoints.push_back({1, 1, 100, 0, "a", 5, "h1", "cur", 1});
    batch.checkpoints.push_back({1, 2, 200, 0, "b", 6, "h2", "cur", 2});
    ASSERT_TRUE(store->commitLines(batch).ok());
    auto all = *store->checkpoints(id);
    ASSERT_EQ(all.size(), 2U);
    EXPECT_EQ(all[0].name, "b");
    EXPECT_EQ(all[1].cursor, "cur");
    ASSERT_TRUE(store->reconcileCheckpoints(id, {}, {"a"}).ok());
    EXPECT_EQ(store->checkpoints(id)->size(), 1U);
    EXPECT_EQ(store->checkpoints(id, true)->size(), 2U);
    EXPECT_TRUE(store->checkpoints(id, true)->at(1).isDeleted);
}

TEST_F(RunMetricsTest, AnAttemptReplacesMetricsAndCheckpointsWhenItBeginsAndNotBefore) {
    for (int step = 1; step <= 6; ++step) {
        ASSERT_TRUE(append(id, 1, step, step).ok());
    }
    LineBatch batch{id, 1, "rank0", 9};
    batch.rank = 0;
    batch.checkpoints = {{1, 8, 3, 0, "three"}, {1, 9, 6, 0, "six"}};
    ASSERT_TRUE(store->commitLines(batch).ok());
    ASSERT_TRUE(store->beginAttempt(id, 2, 3).ok());
    ASSERT_TRUE(store->commitLines({id, 2, "rank0", 1}).ok()) << "a receipt is not a work";
    EXPECT_EQ(valuesOf(*store->metrics(id, "loss")).size(), 6U);
    EXPECT_EQ(store->checkpoints(id)->size(), 2U);
    EXPECT_FALSE(store->attempts(id)->back().hasBegun);
    ASSERT_TRUE(work(id, 2).ok());
    EXPECT_EQ(valuesOf(*store->metrics(id, "loss")), (std::vector<double>{1, 2, 3}));
    EXPECT_EQ(store->get(id)->newest("loss")->step, 3);
    ASSERT_EQ(store->checkpoints(id)->size(), 1U);
    EXPECT_EQ(store->checkpoints(id)->front().name, "three");
    EXPECT_EQ(store->attempts(id)->back(),
              (AttemptRecord{
                  .attempt = 2, .resumeStep = 3, .hasBegun = true, .startedMs = clock.wallMs()}));
}

TEST_F(RunMetricsTest, NeitherTheFeedNorARankThatWaitsBeginsAnAttempt) {
    for (int step = 1; step <= 6; ++step) {
        ASSERT_TRUE(append(id, 1, step, step).ok());
    }
    ASSERT_TRUE(store->beginAttempt(id, 2, 3).ok());
    for (const char* name : {"feed", "feed1"}) {  // the second worker is a relay on another node
        LineBatch feed{id, 2, name, 1};
        feed.metrics = {{1, 5, 0, 0, 10, {{strCat("loader.", name), 70}}}};
        const auto commit = store->commitLines(feed);
        ASSERT_TRUE(commit.ok());
        EXPECT_FALSE(commit->hasBegun);
    }
    LineBatch waiting{id, 2, "rank0", 1};
    waiting.rank = 0;
    waiting.progress = Progress{.step = 3};
    ASSERT_TRUE(store->commitLines(waiting).ok());
    EXPECT_FALSE(store->attempts(id)->back().hasBegun);
    EXPECT_EQ(valuesOf(*store->metrics(id, "loss")).size(), 6U);
    ASSERT_TRUE(append(id, 2, 4, 40).ok());
    EXPECT_EQ(valuesOf(*store->metrics(id, "loss")), (std::vector<double>{1, 2, 3, 40}));
    EXPECT_EQ(valuesOf(*store->metrics(id, "loader.feed")), std::vector<double>{70})
        << "the feed's earlier figures belong to the step that the attempt resumes from";
}

TEST_F(RunMetricsTest, AnAttemptThatNeverBeganReplacesNothing) {
    ASSERT_TRUE(append(id, 1, 5, 5).ok());
    ASSERT_TRUE(store->beginAttempt(id, 2, 0).ok());
    ASSERT_TRUE(store->beginAttempt(id, 3, 5).ok());
    ASSERT_TRUE(append(id, 3, 6, 6).ok());
    EXPECT_EQ(valuesOf(*store->metrics(id, "loss")), (std::vector<double>{5, 6}));
}

TEST_F(RunMetricsTest, ACheckpointFoundOnDiskShowsThatItsAttemptHasBegun) {
    for (int step = 1; step <= 6; ++step) {
        ASSERT_TRUE(append(id, 1, step, step).ok());
    }
    ASSERT_TRUE(store->beginAttempt(id, 2, 3).ok());
    CheckpointRecord found;
    found.attempt = 2;
    found.step = 4;
    found.name = "four";
    ASSERT_TRUE(store->reconcileCheckpoints(id, {found}, {}).ok());
    EXPECT_EQ(valuesOf(*store->metrics(id, "loss")), (std::vector<double>{1, 2, 3}));
    EXPECT_EQ(store->checkpoints(id)->front().name, "four");
}

TEST_F(RunMetricsTest, ALongSeriesIsThinnedOutButItsSpikesSurvive) {
    LineBatch batch{id, 1, "rank0", 5000};
    batch.rank = 0;
    for (int step = 1; step <= 5000; ++step) {
        const double value = step == 3333 ? 1000 : step == 1234 ? -1000 : std::sin(step * 0.01);
        batch.metrics.push_back({step, step, 0, step, 0, {{"loss", value}}});
    }
    ASSERT_TRUE(store->commitLines(batch).ok());
    MetricRange range;
    range.maxPoints = 100;
    const values::MetricSeries series = *store->metrics(id, "loss", range);
    EXPECT_TRUE(series.isDecimated);
    EXPECT_EQ(series.numPoints, 5000);
    EXPECT_LE(series.points.size(), 100U);
    EXPECT_EQ(series.points.front().step, 1);
    EXPECT_EQ(series.points.back().step, 5000);
    bool hasHigh = false, hasLow = false;
    for (std::size_t i = 0; i < series.points.size(); ++i) {
        hasHigh = hasHigh || series.points[i].step == 3333;
        hasLow = hasLow || series.points[i].step == 1234;
        EXPECT_TRUE(i == 0 || series.points[i - 1].step < series.points[i].step);
    }
    EXPECT_TRUE(hasHigh && hasLow);
    range = {10, 12, 100};
    EXPECT_EQ(store->metrics(id, "loss", range)->points.size(), 3U);
}

TEST(Decimate, NanNeitherHidesASpikeNorVanishesWhereItIsAlone) {
    std::vector<values::MetricPoint> points(100);
    for (int i = 0; i < 100; ++i) {
        points[i].step = i;
        points[i].value = i < 50 ? std::nan("") : i;
    }
    points[10].value = 7;
    const auto thin = decimate(points, 12);
    EXPECT_LE(thin.size(), 12U);
    int numNan = 0, numSeven = 0;
    for (const values::MetricPoint& point : thin) {
        numNan += std::isnan(point.value) ? 1 : 0;
        numSeven += point.value == 7 ? 1 : 0;
    }
    EXPECT_GE(numNan, 2);
    EXPECT_EQ(numSeven, 1);
}

}  // namespace
}  // namespace millrace::runs
