// Questions about specs and datasets: the request to the worker, and the handling of its end.
#include "daemon/agent/inspection.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>

#include <gmock/gmock.h>

#include "tests/support/temp_dir.h"
#include "tests/unit/agent/fake_inspector.h"

namespace millrace::agent {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kSpecBytes = 1000;

values::SpecSource someSource() {
    values::SpecSource spec;
    spec.text = "dataset: {path: a.csv}\n";
    spec.fileName = "my.yaml";
    spec.baseDir = "/data";
    spec.sets = {"train.ranks=2"};
    return spec;
}

class InspectionTest : public ::testing::Test {
 protected:
    FakeInspector inspector;
    std::map<std::string, std::string> plans;
    Inspection inspection{
        inspector, kSpecBytes, "/runs", [this](const std::string& run) -> Result<std::string> {
            return plans.contains(run) ? Result<std::string>(plans[run]) : notFound("no plan");
        }};
};

TEST_F(InspectionTest, ACheckAsksWithTheSpecAndItsVariations) {
    values::CheckRequest request;
    request.spec = someSource();
    request.variations = {"v"};
    inspector.answer = std::string("{\"errors\":[]}");
    EXPECT_EQ(*inspection.check(request), "{\"errors\":[]}");
    EXPECT_EQ(inspector.asked["op"], "check");
    EXPECT_EQ(inspector.asked["variations"], Json({"", "v"}));
    EXPECT_EQ(inspector.asked["base_dir"], "/data");
    EXPECT_EQ(inspector.asked["sets"], Json({"train.ranks=2"}));
    EXPECT_EQ(inspector.askedAbout, "my.yaml");
}

TEST_F(InspectionTest, ADatasetIsNamedByPathsOrByASpec) {
    values::DatasetRequest question;
    question.paths = {"/log/*.parquet"};
    question.filesMax = 1'000'000;
    ASSERT_TRUE(inspection.dataset(question).ok());
    EXPECT_EQ(inspector.asked["path"], Json({"/log/*.parquet"}));
    EXPECT_EQ(inspector.asked["files_max"], 10'000);
    EXPECT_EQ(inspector.askedAbout, "/log/*.parquet");
    question.paths.clear();
    question.spec = someSource();
    ASSERT_TRUE(inspection.dataset(question).ok());
    EXPECT_EQ(inspector.asked["text"], someSource().text);
    EXPECT_FALSE(inspector.asked.contains("path"));
}

TEST_F(InspectionTest, StepsTakeFiftyRowsUnlessAskedForMore) {
    values::StepsRequest question;
    question.spec = someSource();
    question.variation = "v";
    ASSERT_TRUE(inspection.steps(question).ok());
    EXPECT_EQ(inspector.asked["rows"], 50);
    EXPECT_EQ(inspector.asked["variation"], "v");
    question.rows = 1000;
    question.split = 3;
    question.firstRow = 7;
    ASSERT_TRUE(inspection.steps(question).ok());
    EXPECT_EQ(inspector.asked["rows"], 1000);
    EXPECT_EQ(inspector.asked["split"], 3);
    EXPECT_EQ(inspector.asked["first_row"], 7);
}

TEST_F(InspectionTest, RunsArePairedByTheScoresBesideTheirCheckpoints) {
    inspector.answer = std::string("{\"pairs\":[]}");
    EXPECT_EQ(*inspection.pair({{"r-abc23", "r-xyz89"}}), "{\"pairs\":[]}");
    EXPECT_EQ(inspector.asked["op"], "pair");
    EXPECT_EQ(inspector.asked["runs"][0],
              Json({{"id", "r-abc23"}, {"directory", "/runs/r-abc23/checkpoints"}}));
    EXPECT_EQ(inspector.asked["runs"][1]["directory"], "/runs/r-xyz89/checkpoints");
    EXPECT_EQ(inspector.numCalls, 1);
    for (const char* other : {"", "r-", "..", "r-../../etc", "r-abc/../x", "r-ABC", "abc23"}) {
        EXPECT_THAT(messageOf(inspection.pair({{"r-abc23", other}}).status()),
                    HasSubstr("is not an id of a run"));
    }
    EXPECT_THAT(messageOf(inspection.pair({{"r-abc23"}}).status()), HasSubstr("2 to 100"));
    EXPECT_THAT(messageOf(inspection.pair({std::vector<std::string>(101, "r-abc23")}).status()),
                HasSubstr("2 to 100"));
    EXPECT_EQ(inspector.numCalls, 1) << "none of these reached the worker";
}

TEST_F(InspectionTest, QuestionsThatCannotBeAskedNeverReachTheWorker) {
    values::CheckRequest large{someSource()};
    large.spec.text.assign(kSpecBytes + 1, '#');
    EXPECT_THAT(messageOf(inspection.check(large).status()), HasSubstr("at most"));
    values::CheckRequest relative{someSource()};
    relative.spec.baseDir = "data";
    EXPECT_THAT(messageOf(inspection.check(relative).status()), HasSubstr("absolute"));
    values::DatasetRequest nothing;
    EXPECT_THAT(messageOf(inspection.dataset(nothing).status()), HasSubstr("neither paths nor"));
    values::DatasetRequest lost;
    lost.paths = {"/a", "b"};
    EXPECT_THAT(messageOf(inspection.dataset(lost).status()), HasSubstr("absolute"));
    values::StepsRequest many;
    many.spec = someSource();
    many.rows = 1001;
    EXPECT_THAT(messageOf(inspection.steps(many).status()), HasSubstr("at most 1000"));
    values::StepsRequest far;
    far.spec = someSource();
    far.split = -1;
    EXPECT_EQ(inspection.steps(far).status().code(), absl::StatusCode::kInvalidArgument);
    EXPECT_EQ(inspector.numCalls, 0);
}

// A worker that is a shell script.
class WorkerEnds : public ::testing::Test {
 protected:
    Status askOf(const std::string& script, std::chrono::milliseconds timeout = {},
                 std::int64_t maxAnswerBytes = 1 << 20) {
        const std::string path = dir_ / "worker";
        std::ofstream(path) << "#!/bin/sh\n" << script;
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
        LoaderInspectorOptions options;
        options.program = path;
        options.timeout = timeout.count() > 0 ? timeout : options.timeout;
        options.maxAnswerBytes = maxAnswerBytes;
        LoaderInspector inspector(options);
        const IsUnwanted ask = [&] { return isUnwanted && isUnwanted(inspector); };
        return inspector.ask({{"op", "check"}}, "my.yaml", ask).status();
    }
    std::function<bool(LoaderInspector&)> isUnwanted;
    tests::TempDir dir_;
};

TEST_F(WorkerEnds, WithAnAnswer) {
    EXPECT_TRUE(askOf("cat > /dev/null; echo '{}'").ok());
}

TEST_F(WorkerEnds, ByASignalIsOneSentence) {
    const Status status = askOf("echo 'last words' >&2; kill -SEGV $$");
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(messageOf(status),
                AllOf(HasSubstr("my.yaml: millrace-loader inspect was ended by signal 11"),
                      HasSubstr("last words"), Not(HasSubstr("\n"))));
}

TEST_F(WorkerEnds, HalfWayThroughItsAnswerIsNoAnswer) {
    const Status status = askOf("echo '{\"ok\":'; exit 5");
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal);
    EXPECT_THAT(messageOf(status), HasSubstr("ended with code 5"));
}

TEST_F(WorkerEnds, ForWantOfMemoryIsSaidSo) {
    const Status status = askOf("echo \"what():  std::bad_alloc\" >&2; kill -ABRT $$");
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(messageOf(status), HasSubstr("memory"));
}

TEST_F(WorkerEnds, TooLateIsSaidSo) {
    const Status status = askOf("exec sleep 60", std::chrono::milliseconds(300));
    EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
    EXPECT_THAT(messageOf(status), HasSubstr("my.yaml"));
}

TEST_F(WorkerEnds, WhenNobodyWantsItsAnswerAnyMore) {
    isUnwanted = [](LoaderInspector&) { return true; };
    EXPECT_TRUE(absl::IsCancelled(askOf("exec sleep 1000")));
}

TEST_F(WorkerEnds, WithTheInspectorsEndAndNothingIsAskedAfterIt) {
    isUnwanted = [](LoaderInspector& inspector) {
        inspector.end();
        return false;
    };
    EXPECT_TRUE(absl::IsUnavailable(askOf("exec sleep 1000")));
    LoaderInspector ended({});
    ended.end();
    EXPECT_TRUE(absl::IsUnavailable(ended.ask({}, "my.yaml", {}).status()));
}

TEST_F(WorkerEnds, WithTooLargeAnAnswerIsSaidSo) {
    const Status status = askOf("yes | head -c 100000; sleep 5", {}, 1000);
    EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
    EXPECT_THAT(messageOf(status), HasSubstr("larger than"));
}

TEST_F(InspectionTest, APreviewIsOfOneVariationAndBounded) {
    values::PreviewRequest question;
    question.spec = someSource();
    question.variation = "v";
    ASSERT_TRUE(inspection.preview(question).ok());
    EXPECT_EQ(inspector.asked["op"], "preview");
    EXPECT_EQ(inspector.asked["variation"], "v");
    EXPECT_EQ(inspector.asked["seconds"], 3);
    EXPECT_EQ(inspector.asked["sets"], Json({"train.ranks=2"}));
    question.seconds = 31;
    EXPECT_THAT(messageOf(inspection.preview(question).status()), HasSubstr("must be 0 to 30"));
    question.seconds = -1;
    EXPECT_FALSE(inspection.preview(question).ok());
    question.seconds = std::nan("");
    EXPECT_FALSE(inspection.preview(question).ok());
    question.seconds = 0;
    question.threads = 1'000'000;
    EXPECT_EQ(inspection.preview(question).status().code(), absl::StatusCode::kInvalidArgument);
}

std::string planOf(const std::string& train, const std::string& eval, const std::string& table) {
    const auto files = [](const char* path, const std::string& hash) {
        return hash.empty() ? Json::array()
                            : Json::array({{{"path", strCat("/d/", path)},
                                            {"relative_path", path},
                                            {"footer_hash", hash},
                                            {"bytes", 7},
                                            {"rows", 1},
                                            {"splits", Json::array({1})}}});
    };
    Json tables = Json::array();
    if (!table.empty()) {
        tables.push_back({{"path", "/d/users.csv"}, {"hash", table}, {"bytes", 9}});
    }
    return dumpJson({{"files", files("log.csv", train)},
                     {"eval_files", files("test.csv", eval)},
                     {"side_tables", tables}});
}

class PairedFiles : public InspectionTest {
 protected:
    /// The pair of r-b with r-a, whose scores can be paired.
    Json paired(const std::string& planOfA, const std::string& planOfB) {
        plans = {{"r-a", planOfA}, {"r-b", planOfB}};
        inspector.answer = std::string(
            R"({"ok":true,"pairs":[{"run":"r-b","has_scores":true,"rows":3,"share":1.0}]})");
        return parseJson(*inspection.pair({{"r-a", "r-b"}}), "pairs")->at("pairs").at(0);
    }
};

TEST_F(PairedFiles, AreEqualInRunsOnTheSameFiles) {
    const Json pair = paired(planOf("1", "2", "3"), planOf("1", "2", "3"));
    EXPECT_TRUE(pair["knows_files"]);
    EXPECT_TRUE(pair["has_scores"]);
    EXPECT_FALSE(pair["evaluated_other_content"]);
    EXPECT_FALSE(pair["trained_on_other_files"]);
    EXPECT_EQ(pair["files"], Json::array());
}

TEST_F(PairedFiles, OfOtherContentAreNamedAndTheirScoresAreNotPaired) {
    Json pair = paired(planOf("1", "", ""), planOf("8", "", ""));
    EXPECT_TRUE(pair["evaluated_other_content"]);
    EXPECT_TRUE(pair["trained_on_other_files"]);
    EXPECT_FALSE(pair["has_scores"]);
    EXPECT_FALSE(pair.contains("rows"));
    EXPECT_EQ(pair["problem"], "r-a and r-b were evaluated on files of different content");
    EXPECT_EQ(pair["files"], Json::array({{{"path", "log.csv"},
                                           {"hash_of_first", "1"},
                                           {"bytes_of_first", 7},
                                           {"hash", "8"},
                                           {"bytes", 7}}}));
    pair = paired(planOf("1", "2", ""), planOf("1", "8", ""));
    EXPECT_TRUE(pair["evaluated_other_content"]);
    EXPECT_FALSE(pair["trained_on_other_files"]);
    pair = paired(planOf("1", "2", ""), planOf("8", "2", ""));
    EXPECT_FALSE(pair["evaluated_other_content"]) << "only the training file was rewritten";
    EXPECT_TRUE(pair["trained_on_other_files"]);
    EXPECT_TRUE(pair["has_scores"]);
}

TEST_F(PairedFiles, IncludeTheTablesThatBothJoin) {
    Json pair = paired(planOf("1", "2", "3"), planOf("1", "2", "8"));
    EXPECT_TRUE(pair["evaluated_other_content"]);
    EXPECT_TRUE(pair["trained_on_other_files"]);
    EXPECT_EQ(pair["files"].at(0).at("path"), "/d/users.csv");
    pair = paired(planOf("1", "2", "3"), planOf("1", "2", ""));
    EXPECT_FALSE(pair["evaluated_other_content"]) << "the spec joins no table";
    EXPECT_EQ(pair["files"], Json::array());
}

TEST_F(PairedFiles, AreNotKnownOfARunThatWasPurged) {
    inspector.answer = std::string(R"({"pairs":[{"run":"r-b","has_scores":true}]})");
    EXPECT_EQ(*inspection.pair({{"r-a", "r-b"}}), *inspector.answer);
}

}  // namespace
}  // namespace millrace::agent
