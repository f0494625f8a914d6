#include "app/gui/models/runs/run_facts.h"

#include <QAbstractItemModelTester>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/models/details/checkpoint_table.h"
#include "app/gui/models/details/fact_table.h"
#include "app/gui/models/details/run_metrics.h"
#include "app/gui/models/run_text.h"
#include "tests/support/runs_scene.h"

namespace millrace::gui {
namespace {

constexpr auto kFatal = QAbstractItemModelTester::FailureReportingMode::Fatal;

values::RunDetail sample() {
    return client::sceneRuns(5, 1'800'000'000'000)[1];
}

QString valueOf(const std::vector<RunFact>& facts, const QString& name) {
    for (const RunFact& fact : facts) {
        if (fact.name == name) {
            return fact.value;
        }
    }
    return {};
}

TEST(RunFacts, TellTheRunWithItsTagsAndItsHistoryTheNewestFirst) {
    values::RunDetail run = sample();
    run.summary.endedMs = 0;
    const auto facts = runFacts(run);
    EXPECT_EQ(valueOf(facts, "Id"), qtext(run.summary.id));
    EXPECT_TRUE(valueOf(facts, "Created").endsWith(" by ada"));
    EXPECT_EQ(valueOf(facts, "Ended"), "") << "it goes on";
    EXPECT_EQ(valueOf(facts, "team"), "ranking");
    ASSERT_EQ(facts.back().section, "History");
    EXPECT_EQ(facts.back().value, "queued");
}

TEST(RunFacts, TellTheEnvironment) {
    const auto facts = environmentFacts(sample());
    EXPECT_EQ(valueOf(facts, "Commit"), "8b1f0c2d9e4a");
    EXPECT_EQ(valueOf(facts, "torch"), "2.11.0");
    EXPECT_EQ(valueOf(facts, "Memory"), "825 GB");
    EXPECT_EQ(valueOf(facts, "GPU 0"), "NVIDIA H200");
    EXPECT_EQ(valueOf(facts, "rank0"), "ended, exit code 0");
}

TEST(RunFacts, TellTheFramesBetweenNodesAndTheSlowestLinks) {
    values::RunDetail run = sample();
    EXPECT_TRUE(trafficFacts(run).empty());
    run.summary.state = values::RunState::kRunning;
    run.summary.progress.stallPercentNow = 40;
    run.traffic.nodes = {{"n2", {}, {120'000'000, 400'000'000, 12e6, 40e6}},
                         {"n5", {120'000'000, 400'000'000, 12e6, 40e6}, {}}};
    run.traffic.slowest = {{"n5", "data0", "n2", "feed1", 120'000'000, 400'000'000, 10, 93}};
    run.traffic.directBytes = 300;
    run.traffic.carriedBytes = 100;
    const auto facts = trafficFacts(run);
    EXPECT_EQ(valueOf(facts, "n2"), "receives 12.0 MB/s: 120 MB, 400 MB in memory");
    EXPECT_EQ(valueOf(facts, "n5"), "sends 12.0 MB/s: 120 MB, 400 MB in memory");
    EXPECT_EQ(valueOf(facts, "Through the leading feed"),
              "25 % of the bytes for ranks on other nodes");
    EXPECT_TRUE(valueOf(facts, "n5 to n2").startsWith("12.0 MB/s while frames were awaited"));
    EXPECT_TRUE(valueOf(facts, "Slow link").startsWith("the ranks on n2 wait for frames from n5"));
}

TEST(RunFacts, SayPlainlyWhatIsNotThere) {
    values::RunDetail run;
    run.hardware = R"({"cpu":"x","gpus":[]})";
    EXPECT_EQ(valueOf(environmentFacts(run), "Commit"), "not in a repository");
    EXPECT_EQ(valueOf(environmentFacts(run), "GPUs"), "no GPU");
    run.hardware = "rubbish";
    EXPECT_EQ(valueOf(environmentFacts(run), "GPUs"), "");
    EXPECT_TRUE(receiptFacts(run).empty());
}

TEST(RunFacts, TellTheReceiptWithEveryStep) {
    const auto facts = receiptFacts(sample());
    EXPECT_EQ(valueOf(facts, "Rows scanned"), "100,836");
    EXPECT_EQ(valueOf(facts, "filter"), "80,561 of 80,600");
    EXPECT_EQ(valueOf(facts, "filter: null"), "9");
    EXPECT_EQ(valueOf(facts, "genres"), "2,014 of 161,122 (1.2 %)");
    EXPECT_EQ(valueOf(facts, "Size"), "2.5 MB");
    EXPECT_EQ(valueOf(facts, "Evaluation hash"), "aaaabbbbcccc");
}

TEST(FactTable, SearchesNamesAndValuesAndKeepsTitles) {
    FactTable table;
    QAbstractItemModelTester tester(&table, kFatal);
    table.setFacts(specFacts(sample()));
    const int all = table.rowCount();
    table.setSearch("keep");
    ASSERT_EQ(table.rowCount(), 2);
    EXPECT_TRUE(table.isSection(0));
    EXPECT_EQ(table.index(0, 0).data(), "recipe");
    EXPECT_EQ(table.index(1, 0).data(), "recipe.negatives.keep");
    EXPECT_EQ(table.index(1, 1).data(), "0.3");
    table.setMarked({"recipe.negatives.keep"});
    EXPECT_TRUE(table.index(1, 0).data(FactTable::kIsMarkedRole).toBool());
    table.setSearch("nothing-like-it");
    EXPECT_EQ(table.rowCount(), 0);
    table.setSearch("");
    EXPECT_EQ(table.rowCount(), all);
}

TEST(CheckpointTable, ShowsTheNewestFirst) {
    CheckpointTable table;
    QAbstractItemModelTester tester(&table, kFatal);
    table.setCheckpoints(sample().checkpoints);
    ASSERT_EQ(table.rowCount(), 4);
    EXPECT_EQ(table.at(0).step, 630);
    EXPECT_EQ(table.index(3, CheckpointTable::kStep).data(), "400");
    EXPECT_EQ(table.index(0, CheckpointTable::kSize).data(), "5.2 MB");
    EXPECT_EQ(table.index(0, CheckpointTable::kPath).data(), "step-630.safetensors");
}

TEST(RunMetrics, TellsNewestBestLowestAndHighest) {
    RunMetrics metrics;
    QAbstractItemModelTester tester(&metrics, kFatal);
    values::RunSummary run = sample().summary;
    metrics.setRun(run, {"custom"});
    const int loss = metrics.rowOf("loss");
    EXPECT_EQ(loss, 0);
    EXPECT_GE(metrics.rowOf("custom"), 0) << "known by name only";
    values::MetricSeries series;
    series.key = "loss";
    series.points.resize(3);
    series.points[0].value = 0.69;
    series.points[1].value = 0.40;
    series.points[2].value = 0.55;
    metrics.setSeries({series});
    EXPECT_EQ(metrics.index(loss, RunMetrics::kBest).data(), "0.4000");
    EXPECT_EQ(metrics.index(loss, RunMetrics::kHighest).data(), "0.6900");
    EXPECT_EQ(metrics.trendAt(loss).size(), 3U);
    run.latestMetrics = {{"loss", 0.30, 700, 0, 2}};
    metrics.setRun(run, metrics.names());
    EXPECT_EQ(metrics.index(loss, RunMetrics::kNewest).data(), "0.3000");
    EXPECT_EQ(metrics.index(loss, RunMetrics::kBest).data(), "0.3000");
    run.id = "r-other";
    metrics.setRun(run, {});
    EXPECT_EQ(metrics.rowCount(), 1);
    EXPECT_TRUE(metrics.trendAt(0).empty()) << "another run's curve";
}

}  // namespace
}  // namespace millrace::gui
