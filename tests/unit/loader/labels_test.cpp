// Warnings of `check` before a run: NaN that a label compares as the greatest number, steps that
// are larger than an epoch.
#include "daemon/worker/loader/labels.h"

#include <gmock/gmock.h>

#include "backend/filesystem/files.h"
#include "daemon/worker/loader/resolve.h"
#include "tests/support/temp_dir.h"

namespace millrace::loader {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// 100 rows: x is 0 to 99 in turn, and "Air Time" is NaN in every fifth of them.
class LabelChecksTest : public ::testing::Test {
 protected:
    LabelChecksTest() {
        std::string text = "x\n";
        for (int row = 0; row < 100; ++row) {
            strAppend(&text, row, "\n");
        }
        EXPECT_TRUE(writeFileAtomic(directory_ / "a.csv", text).ok());
    }

    ResolveReply resolve(const std::string& labels, const std::string& more = "") const {
        ResolveRequest request;
        request.text = strCat(
            "name: t\n"
            "dataset: {path: a.csv}\n"
            "recipe:\n"
            "  - derive: {\"Air Time\": \"if(x % 5 = 0, sqrt(-1.0), x)\"}\n"
            "  - derive: {late: '\"Air Time\" > 90', speed: '\"Air Time\" * 2', copy: x}\n"
            "labels: ",
            labels,
            "\nfeatures: {dense: [x]}\nmodel: {type: mlp, hidden: [4]}\n"
            "batch: {rows: ",
            rows_, ", micro_rows: ", rows_, "}\n", more);
        request.baseDir = directory_.path();
        request.isForTraining = true;
        ResolveReply reply = resolveSpec(request);
        EXPECT_TRUE(reply.errors.empty()) << spec::toStatus(reply.errors, "spec");
        return reply;
    }
    std::vector<std::string> warnings(const std::string& labels,
                                      const std::string& more = "") const {
        const ResolveReply reply = resolve(labels, more);
        return reply.runs.empty() ? std::vector<std::string>{"refused"}
                                  : reply.runs.front().warnings;
    }

    tests::TempDir directory_;
    int rows_ = 16;
};

TEST_F(LabelChecksTest, RowsWhoseLabelComparesNanAreCounted) {
    EXPECT_THAT(warnings("{far: '\"Air Time\" > 90'}"),
                ElementsAre("labels.far: 20 of 100 rows have NaN in 'Air Time', which compares as "
                            "greater than every number; `where: not isnan(\"Air Time\")` beside "
                            "the label's `expr` leaves them out"));
}

TEST_F(LabelChecksTest, ColumnsThatStepsDerivedAreFollowed) {
    EXPECT_THAT(warnings("{late: late}"),
                ElementsAre(AllOf(HasSubstr("labels.late: 20 of 100 rows"),
                                  HasSubstr("NaN in 'Air Time'"))));
    EXPECT_THAT(warnings("{fast: speed > 100}"), ElementsAre(HasSubstr("NaN in 'speed'")));
}

TEST_F(LabelChecksTest, ALabelThatDealsWithNanIsFine) {
    EXPECT_THAT(warnings("{far: {expr: '\"Air Time\" > 90', where: 'not isnan(\"Air Time\")'}}"),
                IsEmpty());
    EXPECT_THAT(warnings("{far: 'not isNaN(\"Air Time\") and \"Air Time\" > 90'}"), IsEmpty());
    EXPECT_THAT(warnings("{share: '\"Air Time\" / 100'}"), IsEmpty()) << "NaN is masked";
    EXPECT_THAT(warnings("{odd: copy % 2 = 1}"), IsEmpty());
}

TEST_F(LabelChecksTest, NanOfTheEvaluationIsSaidWhereTrainingHasNone) {
    const std::string far = "{far: '\"Air Time\" > 90'}";
    EXPECT_THAT(warnings(far, "eval: {dataset: {where: x < 97}}\n"),
                ElementsAre(HasSubstr("20 of 100 rows have")));
    ResolveReply reply = resolve(far, "eval: {dataset: {where: true}}\n");
    ASSERT_EQ(reply.runs.size(), 1U);
    ResolvedRun& run = reply.runs.front();
    const auto found =
        checkLabels(run.spec, run.plan, recipe::Part::kEval, {kCheckBytes, &run.columns});
    ASSERT_TRUE(found.ok()) << found.status();
    ASSERT_EQ(found->size(), 1U);
    EXPECT_THAT(found->front().message, HasSubstr("20 of 100 evaluation rows have NaN"));
    EXPECT_FALSE(found->front().isCertain);
}

TEST_F(LabelChecksTest, AStepLargerThanAnEpochIsNamed) {
    rows_ = 101;
    EXPECT_THAT(warnings("{odd: copy % 2 = 1}"),
                ElementsAre("batch.rows: 101 rows of a step are more than the 100 rows of an "
                            "epoch: an epoch is one step"));
    rows_ = 100;
    EXPECT_THAT(warnings("{odd: copy % 2 = 1}"), IsEmpty());
}

}  // namespace
}  // namespace millrace::loader
