// --csv of `ls`, `metrics` and `compare`, read by Python's csv module.
#include <gmock/gmock.h>

#include "backend/system/subprocess.h"
#include "tests/unit/cli/commands_fixture.h"

namespace millrace::cli {
namespace {

using client::aDetail;
using client::aRun;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class CsvTest : public CommandsTest {
 protected:
    // The rows of the output as Python reads them: a list of lists of texts, the header first.
    Json readByPython() const {
        SubprocessOptions options;
        options.argv = {"python3", "-c",
                        "import csv, json, sys\n"
                        "print(json.dumps(list(csv.reader(sys.stdin, strict=True))))"};
        options.input = out.str();
        options.timeout = std::chrono::seconds(60);
        const Result<SubprocessOutput> output = Subprocess::run(options);
        EXPECT_TRUE(output.ok() && output->exitCode == 0) << output.status() << output->err;
        return output.ok() ? parseJson(output->out, "python").value_or(Json()) : Json();
    }
    // The field of a row by the header's name.
    static std::string field(const Json& rows, std::size_t row, const std::string& name) {
        for (std::size_t at = 0; at < rows[0].size(); ++at) {
            if (rows[0][at] == name) {
                return rows[row][at].get<std::string>();
            }
        }
        ADD_FAILURE() << "no column " << name << " in " << rows[0];
        return "";
    }
};

TEST_F(CsvTest, LsHasARowForEachRunWithTheNamesOfJson) {
    fake.runs[0].summary.note = "a \"note\", of\ntwo lines";
    fake.runs[0].summary.latestMetrics = {{"loss", 0.1 + 0.2, 390}};
    fake.runs[1].summary.latestMetrics.clear();
    EXPECT_EQ(run({"ls", "--csv"}), kExitOk) << err.str();
    const Json rows = readByPython();
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(rows[0][0], "id");
    EXPECT_EQ(rows[1].size(), rows[0].size());
    EXPECT_EQ(field(rows, 1, "id"), "r-abc23");
    EXPECT_EQ(field(rows, 1, "note"), "a \"note\", of\ntwo lines");
    EXPECT_EQ(field(rows, 1, "metrics.loss"), "0.30000000000000004");
    EXPECT_EQ(field(rows, 2, "metrics.loss"), "") << "unknown";
    EXPECT_EQ(field(rows, 1, "variation"), "") << "null";
    EXPECT_EQ(field(rows, 2, "variation"), "keep-30");
    EXPECT_EQ(field(rows, 1, "created"), "2023-11-14T22:13:20.000Z");
}

TEST_F(CsvTest, LsHasTheChosenColumnsOnly) {
    fake.runs[0].summary.params["batch.seed"] = "7";
    fake.runs[0].summary.params["params.rate"] = "0.5";
    EXPECT_EQ(run({"ls", "--csv", "--columns", "id,steps,params.batch.seed,params.rate"}), kExitOk);
    const Json rows = readByPython();
    EXPECT_EQ(rows[0], Json({"id", "progress.step", "progress.steps_total", "params.batch.seed",
                             "params.rate"}));
    EXPECT_EQ(rows[1][3], "7");
    EXPECT_EQ(rows[1][4], "0.5");
    EXPECT_EQ(run({"ls", "--csv", "--columns", "variation,progress.step"}), kExitOk);
    EXPECT_TRUE(out.str().starts_with("variation,progress.step\n")) << out.str();
    EXPECT_EQ(run({"ls", "--csv", "--columns", "id,name"}), kExitOk);
    EXPECT_TRUE(out.str().starts_with("id,name\n")) << "without the variation, as in a table";
    fake.runs[0].summary.startedMs = 1'000;
    fake.runs[0].summary.endedMs = 3'500;
    EXPECT_EQ(run({"ls", "--csv", "--columns", "step,duration,best.eval.auc.value"}), kExitOk)
        << err.str();
    EXPECT_TRUE(out.str().starts_with("progress.step,duration,best.eval.auc.value\n")) << out.str();
    EXPECT_EQ(readByPython()[1][1], "2.5");
    EXPECT_EQ(run({"ls", "--csv", "--columns", "tags.nobody"}), kExitOk);
    EXPECT_EQ(out.str(), "tags.nobody\n\"\"\n\"\"\n") << "readers skip empty lines";
}

TEST_F(CsvTest, LsWithoutRunsPrintsTheHeader) {
    fake.runs.clear();
    EXPECT_EQ(run({"ls", "--csv"}), kExitOk);
    const Json rows = readByPython();
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_THAT(rows[0], ::testing::Contains(Json("progress.step")));
}

TEST_F(CsvTest, MetricsHasARowForEachPoint) {
    values::MetricSeries loss, rate;
    loss.key = "loss";
    loss.points = {pointAt(1, 0.125), pointAt(2, std::nan(""))};
    rate.key = "samples_per_second";
    rate.points = {pointAt(1, 1e6)};
    rate.points[0].ranks = values::RankSpread{9e5, 2e6, 1, 0, 3};
    fake.history.series = {loss, rate};
    EXPECT_EQ(run({"metrics", "r-abc23", "--csv"}), kExitOk) << err.str();
    EXPECT_EQ(fake.ranges.back().maxPoints, 2000) << "as --json";
    const Json rows = readByPython();
    ASSERT_EQ(rows.size(), 4U);
    EXPECT_EQ(field(rows, 1, "name"), "loss");
    EXPECT_EQ(field(rows, 1, "value"), "0.125");
    EXPECT_EQ(field(rows, 1, "ranks.least"), "");
    EXPECT_EQ(field(rows, 2, "value"), "NaN");
    EXPECT_EQ(field(rows, 3, "ranks.least_rank"), "1");
}

TEST_F(CsvTest, CompareHasARowForEachRun) {
    EXPECT_EQ(run({"compare", "r-abc23", "r-def45", "--csv"}), kExitOk) << err.str();
    const Json rows = readByPython();
    ASSERT_EQ(rows.size(), 3U);
    EXPECT_EQ(field(rows, 1, "id"), "r-abc23");
    EXPECT_EQ(field(rows, 2, "variation"), "keep-30");
    EXPECT_EQ(field(rows, 1, "differences.recipe.negatives.keep"), "1.0");
    EXPECT_EQ(field(rows, 2, "differences.recipe.negatives.keep"), "0.3");
    EXPECT_EQ(field(rows, 1, "metrics.eval.auc"), "0.7934");
    EXPECT_NE(field(rows, 1, "same_stream"), "");
}

TEST_F(CsvTest, CsvAndJsonExcludeEachOther) {
    for (const std::vector<std::string>& words : {std::vector<std::string>{"ls"},
                                                  {"metrics", "r-abc23"},
                                                  {"compare", "r-abc23", "r-def45"}}) {
        std::vector<std::string> both = words;
        both.insert(both.end(), {"--json", "--csv"});
        EXPECT_EQ(run(both), kExitUsage);
        EXPECT_THAT(err.str(), HasSubstr("--csv and --json exclude each other"));
        EXPECT_EQ(out.str(), "");
    }
}

}  // namespace
}  // namespace millrace::cli
