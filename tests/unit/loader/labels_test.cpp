// Warnings of `check` before a run: NaN that a label compares as the greatest number, steps that
// are larger than an epoch.
#include "daemon/worker/loader/checks/labels.h"

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
        ResolveReply reply = tryToResolve(labels, more);
        EXPECT_TRUE(reply.errors.empty()) << spec::toStatus(reply.errors, "spec");
        return reply;
    }
    ResolveReply tryToResolve(const std::string& labels, const std::string& more = "") const {
        ResolveRequest request;
        request.text =
            strCat("name: t\ndataset: ", dataset_, "\nrecipe:\n", step_,
                   "  - derive: {\"Air Time\": \"if(x % 5 = 0, sqrt(-1.0), x)\"}\n"
                   "  - derive: {late: '\"Air Time\" > 90', speed: '\"Air Time\" * 2', copy: x}\n"
                   "labels: ",
                   labels, "\nfeatures: ", features_,
                   "\nmodel: {type: mlp, hidden: [4]}\n"
                   "batch: {rows: ",
                   rows_, ", micro_rows: ", rows_, "}\n", more);
        request.baseDir = directory_.path();
        request.isForTraining = true;
        return resolveSpec(request);
    }
    std::vector<std::string> warnings(const std::string& labels,
                                      const std::string& more = "") const {
        const ResolveReply reply = resolve(labels, more);
        return reply.runs.empty() ? std::vector<std::string>{"refused"}
                                  : reply.runs.front().warnings;
    }

    tests::TempDir directory_;
    std::string dataset_ = "{path: a.csv}", step_, features_ = "{dense: [x]}";
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
                ElementsAre(HasSubstr("20 of 100 rows have"), HasSubstr("also trained on")));
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

TEST_F(LabelChecksTest, RowsOfTheEvaluationThatAreTrainedOnAreCounted) {
    const auto of = [&](const std::string& train, const std::string& eval) {
        dataset_ = strCat("{path: a.csv", train.empty() ? "" : ", where: ", train, "}");
        return warnings("{odd: copy % 2 = 1}", strCat("eval: {dataset: {where: ", eval, "}}\n"));
    };
    EXPECT_THAT(of("", "x >= 80"),
                ElementsAre(HasSubstr("eval.dataset: 20 of the 100 rows looked at are evaluated "
                                      "and also trained on")));
    EXPECT_THAT(of("x < 90 or x = 95", "x >= 80 or x = 1"),
                ElementsAre(HasSubstr("eval.dataset: 12 of the 100 rows")));
    EXPECT_THAT(of("x < 80", "x >= 80"), IsEmpty());
    EXPECT_THAT(of("x % 5 <> 0", "x % 5 = 0"), IsEmpty());
    EXPECT_TRUE(writeFileAtomic(directory_ / "b.csv", "x\n1\n2\n").ok());
    dataset_ = "{path: a.csv}";
    EXPECT_THAT(warnings("{odd: copy % 2 = 1}", "eval: {dataset: {path: b.csv}}\n"), IsEmpty());
    EXPECT_THAT(warnings("{odd: copy % 2 = 1}", "eval: {dataset: {where: x > 49}}\n"),
                ElementsAre(HasSubstr("eval.dataset: 50 of the 100 rows")));
    step_ = "  - filter: x < 50\n";
    EXPECT_THAT(warnings("{odd: copy % 2 = 1}", "eval: {dataset: {where: x > 49}}\n"), IsEmpty())
        << "a step separates them";
}

TEST_F(LabelChecksTest, AConditionThatKeepsNoRowIsNamedInsteadOfTheLabel) {
    const auto errorOf = [&](const std::string& more = "") {
        const ResolveReply reply = tryToResolve("{odd: copy % 2 = 1}", more);
        return reply.errors.size() == 1
                   ? strCat(reply.errors.front().line, " ", reply.errors.front().message)
                   : spec::toStatus(reply.errors, "spec").ToString();
    };
    step_ = "  - {name: late, filter: x > 40}\n  - {name: early, filter: x < 40}\n";
    EXPECT_EQ(errorOf(),
              "5 recipe.early: keeps none of the 59 rows before it: there is nothing to learn");
    step_ = "";
    for (const char* where : {"x > 500", "x % 2 = 5"}) {  // statistics rule the first one out
        dataset_ = strCat("{path: a.csv, where: ", where, "}");
        EXPECT_EQ(errorOf(),
                  "2 dataset.where: keeps none of the 100 rows: there is nothing to learn");
        dataset_ = "{path: a.csv}";
        EXPECT_EQ(errorOf(strCat("eval: {dataset: {where: ", where, "}}\n")),
                  "10 eval.dataset.where: keeps none of the 100 rows: there is nothing to "
                  "evaluate");
    }
    EXPECT_THAT(tryToResolve("{odd: 'if(x < 0, 1, null)'}").errors.front().message,
                "label 'odd' is null in every training row: there is nothing to learn");
}

TEST_F(LabelChecksTest, ValuesThatShareRowsOfASmallTableAreCounted) {
    const auto of = [&](const std::string& embedding, const std::string& column = "1 + x % 12") {
        step_ = strCat("  - derive: {\"the month\": '", column, "'}\n");
        features_ = "{ids: [the month]}";
        return warnings("{odd: copy % 2 = 1}",
                        strCat("embeddings: {the month: ", embedding, "}\n"));
    };
    EXPECT_THAT(
        of("{rows: 13}"),
        ElementsAre("embeddings.the month: 12 values share 6 of 13 rows: `vocabulary: auto` "
                    "gives each its own"));
    EXPECT_THAT(of("{rows: 13}", "cast(x % 12 as varchar)"), ElementsAre(HasSubstr("12 values")));
    EXPECT_THAT(of("{rows: 1000}"), IsEmpty());
    EXPECT_THAT(of("{vocabulary: auto}"), IsEmpty());
    EXPECT_THAT(of("{rows: 13}", "null + x"), IsEmpty()) << "no value shares a row";
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
