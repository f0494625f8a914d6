#include "app/gui/models/runs/run_table.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gui_models/sample_table.h"

namespace millrace::gui {
namespace {

using values::RunState;
using values::RunSummary;

class RunTableTest : public testing::Test {
 protected:
    QString text(int row, const QString& key) {
        return table.index(row, table.columnOf(key)).data().toString();
    }
    double number(int row, const QString& key) {
        return table.column(table.columnOf(key)).number(static_cast<std::size_t>(row));
    }
    RunTable table;
    QAbstractItemModelTester tester{&table, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(RunTableTest, KeepsRowsAsRunsChangeAndAppendsNewOnes) {
    table.apply(true, {sampleRun("r-a"), sampleRun("r-b")}, {});
    table.apply(false, {sampleRun("r-c"), sampleRun("r-a", 0.25)}, {});
    EXPECT_EQ(table.rowOf("r-a"), 0);
    EXPECT_EQ(table.rowOf("r-b"), 1);
    EXPECT_EQ(table.rowOf("r-c"), 2);
    EXPECT_EQ(text(0, "metric:loss"), "0.2500");
    EXPECT_EQ(table.find("r-x"), nullptr);
}

TEST_F(RunTableTest, TakesTheLastOfARunThatComesTwiceInOneDelivery) {
    table.apply(true, {sampleRun("r-a", 0.5), sampleRun("r-a", 0.4)}, {});
    ASSERT_EQ(table.numRuns(), 1);
    EXPECT_DOUBLE_EQ(number(0, "metric:loss"), 0.4);
}

TEST_F(RunTableTest, KeepsTheRowsOfRunsThatComeAgainAfterAReset) {
    table.apply(true, {sampleRun("r-a"), sampleRun("r-b"), sampleRun("r-c")}, {});
    const QPersistentModelIndex kept = table.index(2, 0);
    QSignalSpy resets(&table, &QAbstractItemModel::modelReset);
    table.apply(true, {sampleRun("r-c"), sampleRun("r-d")}, {});
    EXPECT_EQ(resets.count(), 0);
    EXPECT_EQ(table.numRuns(), 2);
    EXPECT_TRUE(kept.isValid());
    EXPECT_EQ(kept.row(), table.rowOf("r-c"));
    table.apply(true, {sampleRun("r-x")}, {});
    EXPECT_EQ(table.numRuns(), 1);
    EXPECT_FALSE(kept.isValid());
}

TEST_F(RunTableTest, MakesColumnsOfMetricsTagsAndParameters) {
    RunSummary run = sampleRun("r-a", 0.3);
    run.tags["team"] = "ranking";
    run.params["batch.rows"] = "512";
    table.apply(true, {run, sampleRun("r-b")}, {});
    EXPECT_EQ(text(0, "tag:team"), "ranking");
    EXPECT_EQ(text(0, "param:batch.rows"), "512");
    EXPECT_EQ(text(1, "param:batch.rows"), "");
    EXPECT_EQ(text(0, "metric:nothing"), "");
    EXPECT_TRUE(table.run(0).params.empty()) << "they are held once, in the column store";
    RunSummary later = sampleRun("r-b");
    later.params["batch.rows"] = "1024";
    RunSummary again = run;
    again.params.clear();
    table.apply(false, {later, again}, {});
    EXPECT_EQ(text(1, "param:batch.rows"), "1024");
    EXPECT_EQ(text(0, "param:batch.rows"), "512") << "told again without them, as streams do";
    EXPECT_THAT(table.paramNames(), testing::ElementsAre("batch.rows"));
    EXPECT_THAT(table.tagNames(), testing::ElementsAre("team"));
    EXPECT_THAT(table.metricNames(), testing::ElementsAre("eval.auc", "loss"));
}

TEST_F(RunTableTest, TellsTheBestValueByWhatIsBetterForTheMetric) {
    table.apply(true, {sampleRun("r-a", 0.5)}, {});
    EXPECT_TRUE(std::isnan(number(0, "best:loss")));
    table.setExtremes("r-a", "loss", 0.41, 0.69);
    table.setExtremes("r-a", "eval.auc", 0.2, 0.81);
    EXPECT_DOUBLE_EQ(number(0, "best:loss"), 0.41);
    EXPECT_DOUBLE_EQ(number(0, "best:eval.auc"), 0.81);
    EXPECT_DOUBLE_EQ(number(0, "high:loss"), 0.69);
    table.apply(false, {sampleRun("r-a", 0.40)}, {});
    EXPECT_DOUBLE_EQ(number(0, "best:loss"), 0.40) << "the newest value may be a new best";
}

TEST_F(RunTableTest, TakesTheBestValueThatTheDaemonKeeps) {
    RunSummary run = sampleRun("r-a", 0.5);
    run.bestMetrics = {{"eval.auc", 0.83, 200}};
    table.apply(true, {run}, {});
    EXPECT_DOUBLE_EQ(number(0, "best:eval.auc"), 0.83) << "no series was read";
    EXPECT_TRUE(std::isnan(number(0, "high:eval.auc")));
}

TEST_F(RunTableTest, TheRateOfARunThatHasEndedIsItsMean) {
    RunSummary run = sampleRun("r-a");
    run.latestMetrics.push_back({"samples_per_second", 14'258, 10, 1, 0});
    run.meanRate = 229'088;
    table.apply(true, {run}, {});
    EXPECT_DOUBLE_EQ(number(0, "rate"), 229'088);
    run.state = RunState::kRunning;
    run.endedMs = 0;
    table.apply(false, {run}, {});
    EXPECT_DOUBLE_EQ(number(0, "rate"), 14'258);
}

TEST_F(RunTableTest, LetsTheDurationOfARunningRunGrow) {
    RunSummary run = sampleRun("r-a");
    run.state = RunState::kRunning;
    run.endedMs = 0;
    table.apply(true, {run, sampleRun("r-b")}, {});
    table.columnOf("duration");
    QSignalSpy changes(&table, &QAbstractItemModel::dataChanged);
    table.setNow(run.startedMs + 95'000);
    EXPECT_EQ(text(0, "duration"), "1 m 35 s");
    EXPECT_EQ(text(1, "duration"), "10.0 s");
    EXPECT_EQ(changes.count(), 1);
}

TEST_F(RunTableTest, TellsScatteredChangesInFewBatches) {
    std::vector<RunSummary> runs;
    for (int i = 0; i < 1'000; ++i) {
        runs.push_back(sampleRun("r-" + std::to_string(i)));
    }
    table.apply(true, runs, {});
    QSignalSpy changes(&table, &QAbstractItemModel::dataChanged);
    table.apply(false, {runs[3], runs[4], runs[500]}, {});
    EXPECT_EQ(changes.count(), 2);
    changes.clear();
    std::vector<RunSummary> scattered;
    for (std::size_t i = 0; i < 1'000; i += 2) {
        scattered.push_back(runs[i]);
    }
    table.apply(false, scattered, {});
    EXPECT_EQ(changes.count(), 1);
}

TEST_F(RunTableTest, HoldsWhatAMapHoldsAfterRandomDeliveries) {
    std::mt19937 random(7);
    std::map<std::string, RunSummary> oracle;
    table.columnOf("metric:loss");
    for (int round = 0; round < 400; ++round) {
        std::vector<RunSummary> changed;
        std::vector<std::string> removed;
        const bool isReset = random() % 60 == 0;
        if (isReset) {
            oracle.clear();
        }
        for (unsigned i = random() % 12; i > 0; --i) {
            changed.push_back(randomRun(random, 60));
            oracle[changed.back().id] = changed.back();
        }
        for (unsigned i = random() % 6; i > 0; --i) {
            removed.push_back("r-" + std::to_string(random() % 60));
            oracle.erase(removed.back());
        }
        table.apply(isReset, changed, removed);
        ASSERT_EQ(table.numRuns(), static_cast<int>(oracle.size()));
        int numRunning = 0;
        for (const auto& [id, run] : oracle) {
            const int row = table.rowOf(id);
            ASSERT_GE(row, 0);
            ASSERT_EQ(table.run(row).name, run.name);
            const double loss = run.metric("loss").value_or(kNoNumber);
            const double shown = number(row, "metric:loss");
            ASSERT_TRUE(loss == shown || (std::isnan(loss) && std::isnan(shown)));
            numRunning += run.state == RunState::kRunning ? 1 : 0;
        }
        ASSERT_EQ(table.numInState(RunState::kRunning), numRunning);
    }
}

}  // namespace
}  // namespace millrace::gui
