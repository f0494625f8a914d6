#include "app/gui/models/runs/run_diff.h"

#include <QAbstractItemModelTester>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/runs_scene.h"

namespace millrace::gui {
namespace {

using Detail = std::shared_ptr<const values::RunDetail>;
using Verdict = BaseDifference::Verdict;

class RunDiffTest : public testing::Test {
 protected:
    static Detail detail(int place) {
        static const auto kRuns = client::sceneRuns(5, 1'800'000'000'000, 0);
        return std::make_shared<values::RunDetail>(kRuns[static_cast<std::size_t>(place)]);
    }
    int rowOf(const QString& name) const {
        for (int row = 0; row < diff.rowCount(); ++row) {
            if (!diff.isSection(row) && diff.index(row, 0).data().toString() == name) {
                return row;
            }
        }
        return -1;
    }
    QString cell(const QString& name, int column) const {
        return diff.index(rowOf(name), column).data().toString();
    }
    RunDiff diff;
    QAbstractItemModelTester tester{&diff, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(RunDiffTest, ShowsOnlyWhatDiffers) {
    diff.setRuns({detail(0), detail(1)});
    EXPECT_EQ(cell("recipe.negatives.keep", 1), "1");
    EXPECT_EQ(cell("recipe.negatives.keep", 2), "0.3");
    EXPECT_EQ(rowOf("batch.rows"), -1);
    EXPECT_EQ(rowOf("Packages: torch"), -1);
    EXPECT_EQ(cell("Steps: negatives", 1), "80,561 of 80,561");
    EXPECT_NE(cell("Steps: negatives", 2), cell("Steps: negatives", 1));
    const int different = diff.numDifferent();
    diff.setOnlyDifferent(false);
    EXPECT_EQ(cell("batch.rows", 2), "512");
    EXPECT_EQ(cell("Packages: torch", 1), "2.11.0");
    EXPECT_EQ(diff.numDifferent(), different);
    EXPECT_FALSE(diff.index(rowOf("batch.rows"), 1).data(RunDiff::kDiffersRole).toBool());
}

TEST_F(RunDiffTest, ShowsAStepThatIsSwitchedOffAsOneRow) {
    auto without = std::make_shared<values::RunDetail>(*detail(0));
    auto with = std::make_shared<values::RunDetail>(*without);
    with->params["recipe.spam.enabled"] = "true";
    with->params["recipe.spam.keep"] = "0.5";
    without->params["recipe.spam.enabled"] = "false";
    without->params["recipe.spam.keep"] = "";
    diff.setRuns({with, without});
    EXPECT_EQ(cell("recipe.spam", 1), "on");
    EXPECT_EQ(cell("recipe.spam", 2), "off");
    EXPECT_EQ(rowOf("recipe.spam.enabled"), -1);
    EXPECT_EQ(rowOf("recipe.spam.keep"), -1);
    EXPECT_EQ(diff.numDifferent(), 1);
    diff.setOnlyDifferent(false);
    EXPECT_EQ(cell("recipe.spam.keep", 1), "0.5");
}

TEST_F(RunDiffTest, TellsEnvironmentsApart) {
    diff.setRuns({detail(0), detail(4)});
    EXPECT_EQ(cell("Git: Working tree", 1), "clean");
    EXPECT_EQ(cell("Git: Working tree", 2), "with uncommitted changes");
}

TEST_F(RunDiffTest, MeasuresMetricsAgainstTheFirstRun) {
    diff.setRuns({detail(0), detail(1), detail(4)});
    EXPECT_FALSE(diff.difference(rowOf("loss"), 1));
    EXPECT_GT(diff.difference(rowOf("loss"), 2)->value, 0);
    EXPECT_LT(diff.difference(rowOf("loss"), 3)->value, 0);
    for (const char* name : {"loss", "test AUC"}) {
        const auto against = diff.difference(rowOf(name), 3);
        EXPECT_EQ(against->verdict, Verdict::kApart) << name;
        EXPECT_TRUE(against->sentence.endsWith("; seed noise unknown")) << name;
    }
    EXPECT_TRUE(diff.remarks().contains("Seed noise unknown")) << diff.remarks().toStdString();
    EXPECT_FALSE(diff.difference(rowOf("recipe.negatives.keep"), 2));
}

TEST_F(RunDiffTest, MarksARunThatLearnedAnotherLabel) {
    auto first = std::make_shared<values::RunDetail>(*detail(0));
    auto other = std::make_shared<values::RunDetail>(*detail(1));
    first->params["labels.liked.expr"] = "rating >= 4";
    other->params["labels.liked.expr"] = "rating >= 3.5";
    diff.setRuns({first, other});
    for (const char* name : {"loss", "test AUC"}) {
        const auto against = diff.difference(rowOf(name), 2);
        EXPECT_EQ(against->verdict, Verdict::kOtherLabel) << name;
        EXPECT_TRUE(against->sentence.endsWith("; learned another label")) << name;
    }
    EXPECT_TRUE(
        diff.remarks().startsWith("Other label: " + QString::fromStdString(other->summary.id)))
        << diff.remarks().toStdString();
    values::RunPair pair;
    pair.run = other->summary.id;
    pair.hasScores = true;
    pair.heads = {{"liked", 20'133, 0, 0.41, 0.6108, -0.2008}};
    diff.setPairs(detail(0)->summary.id, {{pair}});
    const auto paired = diff.difference(rowOf("log loss of liked"), 2);
    ASSERT_TRUE(paired);
    EXPECT_EQ(paired->verdict, Verdict::kOtherLabel);
    EXPECT_TRUE(paired->sentence.endsWith("; other label"));
}

TEST_F(RunDiffTest, NamesFilesThatWereRewrittenAndComparesNoFigures) {
    diff.setRuns({detail(0), detail(1)});
    values::RunPair pair;
    pair.run = detail(1)->summary.id;
    pair.knowsFiles = pair.evaluatedOtherContent = pair.trainedOnOtherFiles = true;
    pair.files = {{"log.csv", "c4eccae9d5def702", "34faca5bf0144ca6", 31'247, 31'300}};
    diff.setPairs(detail(0)->summary.id, {{pair}});
    EXPECT_TRUE(diff.remarks().startsWith("Other files: log.csv was rewritten between the runs: "))
        << diff.remarks().toStdString();
    EXPECT_EQ(diff.difference(rowOf("test AUC"), 2)->verdict, Verdict::kOtherRows);
    EXPECT_EQ(diff.difference(rowOf("loss"), 2)->verdict, Verdict::kOtherTraining);
    diff.setRuns({detail(1), detail(0)});
    EXPECT_FALSE(diff.remarks().contains("Other files")) << "the pairs are with another first run";
}

TEST_F(RunDiffTest, SetsEvaluationsRowByRowAgainstTheFirst) {
    diff.setRuns({detail(0), detail(1), detail(4)});
    const int different = diff.numDifferent();
    values::PairReply reply;
    for (int place : {1, 4}) {
        values::RunPair pair;
        pair.run = detail(place)->summary.id;
        pair.hasScores = place == 1;
        pair.rows = 20'133;
        pair.share = 1;
        pair.heads = {{"liked", 20'133, 0, 0.41, 0.6108, -0.2008}};
        reply.pairs.push_back(pair);
    }
    diff.setPairs(detail(0)->summary.id, reply);
    EXPECT_EQ(cell("rows both scored", 2), "20,133 (100 %)");
    EXPECT_EQ(cell("rows both scored", 3), cell("rows both scored", 1)) << "nothing is known";
    EXPECT_EQ(cell("log loss of liked", 1), "0.6108");
    EXPECT_EQ(cell("log loss of liked", 2), "0.4100");
    const auto against = diff.difference(rowOf("log loss of liked"), 2);
    ASSERT_TRUE(against);
    EXPECT_EQ(against->verdict, Verdict::kApart);
    EXPECT_DOUBLE_EQ(against->value, -0.2008);
    EXPECT_TRUE(against->sentence.endsWith("log loss of liked 0.2008 less"));
    EXPECT_FALSE(diff.difference(rowOf("log loss of liked"), 3));
    EXPECT_EQ(diff.numDifferent(), different) << "no fact of the runs";
    diff.setRuns({detail(1), detail(0)});
    EXPECT_EQ(rowOf("rows both scored"), -1) << "another run is the first";
}

TEST_F(RunDiffTest, SaysNothingDiffersOfARunAndItself) {
    diff.setRuns({detail(2), detail(2)});
    EXPECT_EQ(diff.numDifferent(), 0);
    EXPECT_EQ(diff.rowCount(), 0);
    diff.setRuns({});
    EXPECT_EQ(diff.columnCount(), 1);
}

TEST_F(RunDiffTest, FollowsARunThatGoesOn) {
    diff.setRuns({detail(0), detail(1)});
    values::RunSummary later = detail(1)->summary;
    later.latestMetrics[3].value = 0.25;
    diff.update(later);
    EXPECT_EQ(cell("loss", 2), "0.2500");
    later.state = values::RunState::kFailed;
    diff.update(later);
    EXPECT_EQ(cell("State", 2), "failed");
}

TEST_F(RunDiffTest, ShowsAValueThatARunDoesNotHave) {
    auto other = std::make_shared<values::RunDetail>(*detail(1));
    other->params.erase("batch.seed");
    diff.setRuns({detail(0), other});
    EXPECT_EQ(cell("batch.seed", 1), "7");
    EXPECT_EQ(cell("batch.seed", 2), QString(QChar(0x2013)));
}

TEST_F(RunDiffTest, CopiesWhatItShows) {
    diff.setRuns({detail(0), detail(1)});
    const QString text = asTsv(diff.texts());
    EXPECT_TRUE(text.startsWith("name\tr-00000 movielens-dlrm\tr-00001 keep-30\n"));
    EXPECT_TRUE(text.contains("recipe.negatives.keep\t1\t0.3\n"));
    EXPECT_FALSE(text.contains("batch.rows"));
}

TEST_F(RunDiffTest, AgreesWithAPlainComparisonOfRandomParameters) {
    std::mt19937 random(5);
    for (int round = 0; round < 60; ++round) {
        std::vector<Detail> runs;
        for (unsigned i = 0; i < 2 + random() % 3; ++i) {
            values::RunDetail run;
            run.summary.id = "r-" + std::to_string(i);
            for (unsigned k = 0; k < 12; ++k) {
                if (random() % 4 != 0) {
                    run.params["k." + std::to_string(k)] = std::to_string(random() % 2);
                }
            }
            runs.push_back(std::make_shared<values::RunDetail>(run));
        }
        diff.setRuns(runs);
        for (unsigned k = 0; k < 12; ++k) {
            const std::string key = "k." + std::to_string(k);
            bool differs = false;
            for (const Detail& run : runs) {
                const auto first = runs[0]->params.find(key), other = run->params.find(key);
                const bool isIn = first != runs[0]->params.end(),
                           isOther = other != run->params.end();
                differs = differs || isIn != isOther || (isIn && first->second != other->second);
            }
            EXPECT_EQ(rowOf(QString::fromStdString(key)) >= 0, differs) << key;
        }
    }
}

}  // namespace
}  // namespace millrace::gui
