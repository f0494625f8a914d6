#include "app/session/metric_catalogue.h"

#include <cstdlib>
#include <set>

#include <gtest/gtest.h>

#include "backend/filesystem/files.h"

namespace millrace::session {
namespace {

const std::string kPage = std::string(MILLRACE_SOURCE_DIR) + "/docs/reference/metrics.md";
const std::string kBegin =
    "<!-- tables: made by tests/unit/session/metric_catalogue_test.cpp -->\n\n";
const std::string kEnd = "<!-- end of the tables -->\n";

TEST(MetricCatalogue, CallsAMetricAsPeopleDo) {
    EXPECT_EQ(metricLabel("loss"), "loss");
    EXPECT_EQ(metricLabel("eval.auc"), "test AUC");
    EXPECT_EQ(metricLabel("eval.click.normalized_entropy"), "test click normalised entropy");
    EXPECT_EQ(metricLabel("eval.click.ndcg"), "test click ndcg");
    EXPECT_EQ(metricLabel("input_stall_percent"), "input stall");
    EXPECT_EQ(metricTitle("input_stall_percent"), "input stall %");
    EXPECT_EQ(metricTitle("samples_per_second"), "samples/s");
    EXPECT_EQ(metricLabel("my_metric"), "my_metric");
    EXPECT_EQ(metricColumn("eval.normalized_entropy"), "NE");
    EXPECT_EQ(metricColumn("eval.click.auc"), "click.auc");
    EXPECT_EQ(metricColumn("my_metric"), "my_metric");
}

TEST(MetricCatalogue, TellsTheUnitOfWhatNobodyEnteredByItsName) {
    EXPECT_EQ(metricUnit("queue_wait_percent"), MetricUnit::kPercent);
    EXPECT_EQ(metricUnit("link.bytes_per_second"), MetricUnit::kBytesPerSecond);
    EXPECT_EQ(metricUnit("tokens_per_second"), MetricUnit::kPerSecond);
    EXPECT_EQ(metricUnit("peak_memory_bytes"), MetricUnit::kBytes);
    EXPECT_EQ(metricUnit("all_reduce_ms"), MetricUnit::kMilliseconds);
    EXPECT_EQ(metricUnit("gradient_norm"), MetricUnit::kNone);
}

TEST(MetricCatalogue, LeavesOutCountsAndFaultsThatAreNone) {
    EXPECT_TRUE(isInternalMetric("eval.click.rows", 5));
    EXPECT_TRUE(isInternalMetric("steps_without_weight", 0));
    EXPECT_FALSE(isInternalMetric("steps_without_weight", 2));
    EXPECT_FALSE(isInternalMetric("eval.rows_without_label", 3));
    EXPECT_TRUE(isInternalMetric("eval.rows_without_label"));
    EXPECT_FALSE(isInternalMetric("loss", 0));
    EXPECT_FALSE(isInternalMetric("rows", 0)) << "a metric of a user's";
}

TEST(MetricCatalogue, OrdersAsItStands) {
    const std::vector<std::string> ordered = {
        "loss",      "eval.a.auc", "eval.b.auc",         "eval.a.normalized_entropy",
        "eval.mine", "eval.rows",  "samples_per_second", "input_stall_percent",
        "alpha",     "zeta"};
    std::vector<std::string> mixed(ordered.rbegin(), ordered.rend());
    EXPECT_EQ(inUsualOrder(mixed), ordered);
}

TEST(MetricCatalogue, KnowsTheGpuOfAName) {
    EXPECT_EQ(gpuOfUse("system.gpu0.utilization_percent"), 0);
    EXPECT_EQ(gpuOfUse("system.gpu12.utilization_percent"), 12);
    for (const char* other :
         {"system.gpu.utilization_percent", "system.gpu1.memory_used_bytes",
          "system.gpu1x.utilization_percent", "system.gpu-1.utilization_percent",
          "system.gpu01.utilization_percent", "system.gpus", "loss"}) {
        EXPECT_FALSE(gpuOfUse(other).has_value()) << other;
    }
}

TEST(MetricCatalogue, EachEntryIsFoundByItsOwnName) {
    std::set<std::string_view> names;
    for (const MetricEntry& entry : metricCatalogue()) {
        EXPECT_EQ(findMetric(entry.name), &entry) << entry.name;
        EXPECT_TRUE(names.insert(entry.name).second) << entry.name << " appears twice";
        EXPECT_FALSE(entry.what.empty()) << entry.name;
    }
    EXPECT_EQ(findMetric("system.rank0.cpu_percent")->name, "system.<worker>.cpu_percent");
    EXPECT_EQ(findMetric("system.loader.step.where.busy_percent")->name,
              "system.loader.step.<step>.busy_percent");
    EXPECT_EQ(findMetric("eval.click.auc")->name, "eval.auc");
}

TEST(MetricCatalogue, EachLiveChartHasItsMetrics) {
    EXPECT_EQ(metricsOf(MetricChart::kRate), std::vector<std::string>{"samples_per_second"});
    EXPECT_EQ(metricsOf(MetricChart::kLoss), std::vector<std::string>{"loss"});
    EXPECT_EQ(metricsOf(MetricChart::kStall), std::vector<std::string>{"input_stall_percent"});
    EXPECT_EQ(
        metricsOf(MetricChart::kRows),
        (std::vector<std::string>{"loader.rows_read_per_second", "loader.rows_kept_per_second"}));
}

/// After a change of the table: MILLRACE_WRITE_REFERENCE=1 and this test write the page.
TEST(MetricCatalogue, TheTablesOfThePageAreWhatItGives) {
    Result<std::string> page = readFile(kPage);
    ASSERT_TRUE(page.ok()) << page.status();
    const std::size_t begin = page->find(kBegin), end = page->find(kEnd);
    ASSERT_NE(begin, std::string::npos);
    ASSERT_NE(end, std::string::npos);
    const std::size_t from = begin + kBegin.size();
    if (std::getenv("MILLRACE_WRITE_REFERENCE") != nullptr) {
        const std::string whole = page->substr(0, from) + metricTables() + page->substr(end);
        ASSERT_TRUE(writeFileAtomic(kPage, whole).ok());
        return;
    }
    EXPECT_TRUE(page->substr(from, end - from) == metricTables())
        << "docs/reference/metrics.md is old: run this test with MILLRACE_WRITE_REFERENCE=1";
}

}  // namespace
}  // namespace millrace::session
