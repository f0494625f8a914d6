// Stage counters, their text for people, and the metrics of a run.
#include "daemon/worker/loader/stream/explain.h"

#include <sstream>

#include <gmock/gmock.h>

#include "backend/segment/segment_runner.h"
#include "backend/text/text.h"
#include "daemon/worker/loader/feed/metrics.h"
#include "daemon/worker/loader/progress.h"

namespace millrace::loader {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kMs = 1'000'000;

void count(segment::StageCounters& counters) {
    counters.add(segment::Stage::kRead, 600 * kMs, 1000, 5000);
    counters.add(segment::Stage::kRecipe, 200 * kMs, 1000, 0);
    counters.add(segment::Stage::kCollate, 100 * kMs, 1000, 9000);
    counters.addWait(segment::Stage::kRead, segment::Wait::kStarved, 300 * kMs);
    counters.addReads(std::vector<dataset::ColumnCost>{{"cheap", 100 * kMs, 0, 100},
                                                       {"dear", 500 * kMs, 300 * kMs, 4900}},
                      1000);
    counters.addEncoded(std::vector<recipe::FeatureTime>{{"dear", 50 * kMs}});
    counters.addCollated(
        std::vector<std::pair<std::string, std::int64_t>>{{"cheap", kMs}, {"dear", 3 * kMs}});
    counters.addStep("users", {120 * kMs, 1000, 900});
    counters.addStep("users", {30 * kMs, 1000, 900});
}

Explanation explanation() {
    segment::StageCounters counters;
    count(counters);
    Explanation why;
    why.threads = 2;
    why.streamSeconds = 0.7;
    why.rowsRead = 1000;
    for (std::size_t s = 0; s < segment::kNumStages; ++s) {
        why.stages[s] = counters.read(static_cast<segment::Stage>(s));
    }
    why.columns = counters.columns();
    why.steps = {*counters.steps().find("users")};
    why.stepKinds = {{"users", "join"}};
    return why;
}

TEST(ExplanationTest, StepsSayWhatARowTakesAndRowGroupsWhatWouldBeBetter) {
    Explanation why = explanation();
    EXPECT_THAT(why.toText(100, false), HasSubstr("75000.0 ns/row, 2,000 -> 1,800 rows"));
    EXPECT_EQ(why.toJson()["steps"][0]["ns_per_row"], 75'000);
    EXPECT_TRUE(why.toJson()["segments_advice"].is_null());
    why.segmentsAdvice = "row groups of up to 9 rows";
    EXPECT_THAT(why.toText(100, false), HasSubstr("  row groups of up to 9 rows\n"));
    EXPECT_EQ(why.toJson()["segments_advice"], "row groups of up to 9 rows");
}

TEST(ExplanationTest, NobodyIsToldToDoWithoutLabels) {
    Explanation why = explanation();
    why.steps.emplace_back(std::string(segment::kLabelsStep),
                           segment::StepTime{150 * kMs, 1000, 1000});
    const std::string text = why.toText(100, false);
    EXPECT_THAT(text, HasSubstr("  (labels)  "));
    EXPECT_THAT(text, Not(HasSubstr("'(labels)'")));
}

TEST(ExplanationTest, ExpressionsOfAStepStandBelowItTheDearestFirst) {
    segment::StageCounters counters;
    for (const auto& [column, ms] : std::vector<std::pair<std::string, std::int64_t>>{
             {"a", 1}, {"b", 60}, {"c", 2}, {"d", 3}, {"e", 4}, {"f", 5}, {"g", 6}}) {
        counters.addExpression("users", column, ms * kMs);
    }
    counters.addExpression("users", "b", 20 * kMs);
    Explanation why = explanation();
    EXPECT_EQ(why.toJson()["steps"][0]["expressions"], Json::array());
    why.expressions = counters.expressions();
    const std::string text = why.toText(100, false);
    EXPECT_THAT(text, ContainsRegex("  users .*\n +b .* 0[.]080 s .* 40000[.]0 ns/row\n +g .*\n"));
    EXPECT_THAT(text, ContainsRegex("\n +2 more .* 0[.]003 s .* 1500[.]0 ns/row\n"));
    EXPECT_THAT(text, HasSubstr("do without column b of the step 'users': 0.080 s of CPU"));
    EXPECT_THAT(text, Not(HasSubstr("do without column d ")))
        << "three of columns and expressions are enough";
    const Json list = why.toJson()["steps"][0]["expressions"];
    ASSERT_EQ(list.size(), 7);
    EXPECT_EQ(list[0]["column"], "b");
    EXPECT_EQ(list[0]["ns_per_row"], 40'000);
    EXPECT_EQ(list[6]["column"], "a");
}

// Two micro-batches of 100 rows: 40 requests and a user of 10 rows, 20 requests and one of 30.
void countMix(segment::StageCounters& counters) {
    counters.addMix({1, 100, 40, 40, 10, 0.1});
    counters.addMix({1, 100, 20, 20, 30, 0.3});
}

TEST(ExplanationTest, SaysHowMicroBatchesAreMixed) {
    Explanation why = explanation();
    EXPECT_THAT(why.toText(100, false), Not(HasSubstr("mixed")));
    segment::StageCounters counters;
    countMix(counters);
    why.mix = counters.mix();
    why.shuffle = "requests";
    EXPECT_THAT(
        why.toText(100, false),
        HasSubstr("how micro-batches of 100 rows are mixed, batch.shuffle: requests\n"
                  "  requests: 30.0 on average, 20 in the worst\n"
                  "  largest user: 20.00 % of the rows on average, 30.00 % in the worst\n"));
}

TEST(StageMetricsTest, MixingIsAMeanSinceTheLastLineAndTheWorstOfAll) {
    segment::StageCounters counters;
    StageMetrics metrics(counters);
    std::map<std::string, double> first, second, third;
    countMix(counters);
    metrics.add(1, false, first);
    EXPECT_EQ(first.at("system.loader.mixing.requests"), 30);
    EXPECT_EQ(first.at("system.loader.mixing.largest_user_percent"), 20);
    counters.addMix({1, 100, 50, 50, 5, 0.05});
    metrics.add(1, false, second);
    EXPECT_EQ(second.at("system.loader.mixing.requests"), 50);
    EXPECT_EQ(second.at("system.loader.mixing.fewest_requests"), 20);
    EXPECT_EQ(second.at("system.loader.mixing.largest_user_percent"), 5);
    EXPECT_EQ(second.at("system.loader.mixing.worst_user_percent"), 30);
    metrics.add(1, false, third);
    EXPECT_EQ(third.count("system.loader.mixing.requests"), 0U) << "nothing was delivered";
}

TEST(StageCountersTest, ColumnsShareTheStagesTimeAsMeasured) {
    segment::StageCounters counters;
    count(counters);
    const auto columns = counters.columns();
    EXPECT_EQ(columns.at("cheap").collateNs, 25 * kMs);
    EXPECT_EQ(columns.at("dear").collateNs, 75 * kMs);
    EXPECT_EQ(columns.at("dear").readNs, 500 * kMs);
    EXPECT_EQ(columns.at("dear").waitNs, 300 * kMs);
    EXPECT_EQ(columns.at("dear").busyNs(), 625 * kMs);
    EXPECT_EQ(counters.steps().at("users").busyNs, 150 * kMs);
    EXPECT_EQ(counters.read(segment::Stage::kRead).starvedNs, 300 * kMs);
}

TEST(ExplanationTest, ChangesAreSortedByWhatTheyBuy) {
    const auto changes = explanation().changes();
    ASSERT_GE(changes.size(), 4U);
    EXPECT_THAT(changes[0].what, HasSubstr("without waiting"));
    EXPECT_EQ(changes[1].what, "leave out column dear");
    EXPECT_NEAR(changes[1].cpuSeconds, 0.625, 1e-9);
    EXPECT_NEAR(changes[1].ratePercent, 100 * (0.9 / 0.275 - 1), 1e-6);
    EXPECT_THAT(changes[2].what, HasSubstr("the join 'users'"));
    for (std::size_t i = 2; i < changes.size(); ++i) {
        EXPECT_LE(changes[i].cpuSeconds, changes[i - 1].cpuSeconds);
    }
}

TEST(ExplanationTest, StepsOfOneNameAreOneLineThatSaysHowMany) {
    Explanation why = explanation();
    why.stepsOfName["users"] = 2;
    const std::string text = why.toText(100, false);
    EXPECT_THAT(text, ::testing::ContainsRegex("2 steps: [0-9.]+ ns/row, 2,000 -> 1,800 rows"));
    EXPECT_THAT(text, HasSubstr("do without the 2 steps 'users'"));
    EXPECT_THAT(text, Not(HasSubstr("the join 'users'")));
}

TEST(ExplanationTest, TheCodecsShareIsAddedUpOverColumns) {
    Explanation why = explanation();
    why.decompressionShare = {{"dear", 0.5}, {"cheap", 0.1}};
    why.codecs = {{"dear", "zstd"}, {"cheap", "zstd"}};
    bool isThere = false;
    for (const Explanation::Change& change : why.changes()) {
        if (change.what.find("without zstd") != std::string::npos) {
            isThere = true;
            EXPECT_NEAR(change.cpuSeconds, 0.26, 1e-9);
        }
    }
    EXPECT_TRUE(isThere);
}

TEST(ExplanationTest, LinesFitTheTerminal) {
    for (const int width : {40, 60, 80, 120}) {
        std::istringstream lines(explanation().toText(width, true));
        for (std::string line; std::getline(lines, line);) {
            const bool isSentence = line.find("rows/s") != std::string::npos ||
                                    line.find("where the time") == 0 ||
                                    line.find("columns by cost") == 0 || line.find("what") == 0;
            EXPECT_TRUE(isSentence || displayWidth(line) <= width) << width << ": " << line;
        }
    }
    const std::string text = explanation().toText(100, false);
    EXPECT_THAT(text, HasSubstr("dear"));
    EXPECT_THAT(text, HasSubstr("2,000 -> 1,800"));
    EXPECT_THAT(text, Not(HasSubstr("█")));
}

TEST(ExplanationTest, JsonHasEveryColumnTheDearestFirst) {
    const Json json = explanation().toJson();
    ASSERT_EQ(json["columns"].size(), 2U);
    EXPECT_EQ(json["columns"][0]["name"], "dear");
    EXPECT_NEAR(json["columns"][0]["ns_per_row"].get<double>(), 625'000, 1e-3);
    EXPECT_TRUE(json["columns"][0]["decompression_share"].is_null());
    EXPECT_EQ(json["steps"][0]["rows_out"], 1800);
}

TEST(ExplanationTest, NothingCountedIsNoError) {
    EXPECT_THAT(Explanation().toText(80, true), HasSubstr("nothing stands out"));
}

TEST(BarTest, IsAsLongAsItsShare) {
    EXPECT_EQ(barText(0, 8, true), "");
    EXPECT_EQ(displayWidth(barText(1, 8, true)), 8);
    EXPECT_EQ(displayWidth(barText(7, 8, true)), 8);
    EXPECT_EQ(barText(0.5, 8, false), "####");
}

TEST(ProgressLineTest, ShowsLessWhereThereIsLessRoom) {
    const ProgressLine line(1000, "rows");
    EXPECT_THAT(line.text(250, 1.0, 0), HasSubstr("25 %"));
    EXPECT_THAT(line.text(250, 1.0, 0), HasSubstr("250 of 1,000 rows"));
    EXPECT_THAT(line.text(250, 1.0, 0), HasSubstr("3.0 s left"));
    for (const int width : {12, 20, 40, 80, 200}) {
        EXPECT_LE(displayWidth(line.text(250, 1.0, width)), width);
    }
}

TEST(StageMetricsTest, RatesAreThoseSinceTheLastCall) {
    segment::StageCounters counters;
    StageMetrics metrics(counters);
    count(counters);
    std::map<std::string, double> values;
    metrics.add(2.0, false, values);
    EXPECT_NEAR(values.at("system.loader.read.busy_percent"), 30, 1e-9);
    EXPECT_NEAR(values.at("system.loader.read.starved_percent"), 15, 1e-9);
    EXPECT_NEAR(values.at("system.loader.read.ns_per_row"), 600'000, 1e-6);
    EXPECT_NEAR(values.at("system.loader.step.users.busy_percent"), 7.5, 1e-9);
    EXPECT_FALSE(values.contains("system.loader.column.dear.ns_per_row")) << "now and then only";
    values.clear();
    metrics.add(1.0, true, values);
    EXPECT_EQ(values.at("system.loader.read.busy_percent"), 0);
    EXPECT_FALSE(values.contains("system.loader.read.ns_per_row")) << "no row, no figure";
    EXPECT_NEAR(values.at("system.loader.column.dear.ns_per_row"), 625'000, 1e-6);
    EXPECT_NEAR(values.at("system.loader.column.dear.disk_bytes_per_row"), 4.9, 1e-9);
}

}  // namespace
}  // namespace millrace::loader
