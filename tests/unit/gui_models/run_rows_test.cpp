#include "app/gui/models/runs/run_rows.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <algorithm>
#include <cmath>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/gui_models/sample_table.h"

namespace millrace::gui {
namespace {

using ::testing::ElementsAre;
using values::RunState;
using values::RunSummary;
using Verdict = BaseDifference::Verdict;

class RunRowsTest : public testing::Test {
 protected:
    void SetUp() override {
        rows.setColumns({"name", "variation", "metric:loss", "metric:eval.auc"});
    }
    std::vector<std::string> shown() const {
        std::vector<std::string> ids;
        for (int row = 0; row < rows.rowCount(); ++row) {
            ids.push_back(rows.idAt(row));
        }
        return ids;
    }
    /// Two bases; the first has two variations.
    void addFamily() {
        RunSummary other = sampleRun("r-other", 0.9);
        other.createdMs -= 1'000;
        table.apply(true,
                    {sampleRun("r-base", 0.5), sampleRun("r-v1", 0.4, "r-base", "keep-30"),
                     sampleRun("r-v2", 0.6, "r-base", "keep-10"), other},
                    {});
    }
    RunTable table;
    RunRows rows{table};
    QAbstractItemModelTester tester{&rows, QAbstractItemModelTester::FailureReportingMode::Fatal};
};

TEST_F(RunRowsTest, NestsVariationsBelowTheirBaseAndFoldsThem) {
    addFamily();
    EXPECT_THAT(shown(), ElementsAre("r-base", "r-v1", "r-v2", "r-other"));
    EXPECT_EQ(rows.depth(1), 1);
    EXPECT_EQ(rows.numVariations(0), 2);
    rows.setExpanded("r-base", false);
    EXPECT_THAT(shown(), ElementsAre("r-base", "r-other"));
    EXPECT_EQ(rows.numVariations(0), 2);
    EXPECT_EQ(rows.numMatching(), 4);
    rows.setExpanded("r-base", true);
    EXPECT_EQ(rows.rowCount(), 4);
    rows.setNested(false);
    EXPECT_EQ(rows.depth(1), 0);
}

TEST_F(RunRowsTest, ShowsVariationsByThemselvesWhenTheirBaseIsGone) {
    addFamily();
    table.apply(false, {}, {"r-base"});
    EXPECT_EQ(rows.rowCount(), 3);
    EXPECT_EQ(rows.depth(rows.rowOf("r-v1")), 0);
}

TEST_F(RunRowsTest, SortsBasesAndTheirVariationsWithinThem) {
    addFamily();
    rows.setSort("metric:loss", Qt::DescendingOrder);
    EXPECT_THAT(shown(), ElementsAre("r-other", "r-base", "r-v2", "r-v1"));
    rows.setSort("metric:loss", Qt::AscendingOrder);
    EXPECT_THAT(shown(), ElementsAre("r-base", "r-v1", "r-v2", "r-other"));
}

TEST_F(RunRowsTest, PutsEmptyValuesLastInBothOrders) {
    RunSummary empty = sampleRun("r-empty");
    empty.latestMetrics.clear();
    table.apply(true, {sampleRun("r-a", 0.2), empty, sampleRun("r-b", 0.1)}, {});
    rows.setSort("metric:loss", Qt::AscendingOrder);
    EXPECT_THAT(shown(), ElementsAre("r-b", "r-a", "r-empty"));
    rows.setSort("metric:loss", Qt::DescendingOrder);
    EXPECT_THAT(shown(), ElementsAre("r-a", "r-b", "r-empty"));
}

TEST_F(RunRowsTest, SortsNamesAsPeopleDo) {
    std::vector<RunSummary> runs;
    for (const char* name : {"run-10", "Run-9", "run-1", "alpha"}) {
        runs.push_back(sampleRun(std::string("r-") + name));
        runs.back().name = name;
    }
    table.apply(true, runs, {});
    rows.setSort("name", Qt::AscendingOrder);
    EXPECT_THAT(shown(), ElementsAre("r-alpha", "r-run-1", "r-Run-9", "r-run-10"));
}

TEST_F(RunRowsTest, FindsWordsInNamesVariationsAndIds) {
    addFamily();
    rows.setFilter({{"KEEP-3"}, {}, {}});
    EXPECT_THAT(shown(), ElementsAre("r-base", "r-v1"));
    EXPECT_TRUE(rows.isContext(0)) << "the base is there for its variation only";
    EXPECT_EQ(rows.numMatching(), 1);
    rows.setFilter({{"movielens", "other"}, {}, {}});
    EXPECT_THAT(shown(), ElementsAre("r-other"));
    rows.setFilter({{"nowhere"}, {}, {}});
    EXPECT_EQ(rows.rowCount(), 0);
}

TEST_F(RunRowsTest, CombinesStatesWithWhatTheDaemonFound) {
    addFamily();
    RunSummary failed = sampleRun("r-other", 0.9);
    failed.state = RunState::kFailed;
    table.apply(false, {failed}, {});
    rows.setFilter({{}, std::unordered_set<std::string>{"r-other", "r-base"}, {RunState::kFailed}});
    EXPECT_THAT(shown(), ElementsAre("r-other"));
    failed.state = RunState::kFinished;
    table.apply(false, {failed}, {});
    EXPECT_EQ(rows.rowCount(), 1) << "rows do not jump while one looks";
    rows.settle();
    EXPECT_EQ(rows.rowCount(), 0);
}

TEST_F(RunRowsTest, MovesSelectionsWithTheirRuns) {
    addFamily();
    const QPersistentModelIndex kept = rows.index(rows.rowOf("r-v2"), 2);
    rows.setSort("metric:loss", Qt::DescendingOrder);
    EXPECT_EQ(rows.idAt(kept.row()), "r-v2");
    table.apply(false, {sampleRun("r-new", 0.95)}, {"r-other"});
    EXPECT_EQ(rows.idAt(kept.row()), "r-v2");
    EXPECT_EQ(kept.column(), 2);
    QSignalSpy resets(&rows, &QAbstractItemModel::modelReset);
    table.apply(false, {sampleRun("r-v2", 0.01, "r-base", "keep-10")}, {});
    rows.settle();
    EXPECT_EQ(rows.idAt(kept.row()), "r-v2");
    EXPECT_EQ(resets.count(), 0);
}

TEST_F(RunRowsTest, MeasuresVariationsAgainstTheirBase) {
    addFamily();
    const int loss = rows.columnOfKey("metric:loss"), auc = rows.columnOfKey("metric:eval.auc");
    const auto less = rows.difference(rows.rowOf("r-v1"), loss);
    ASSERT_TRUE(less);
    EXPECT_NEAR(less->value, -0.1, 1e-12);
    EXPECT_EQ(less->verdict, Verdict::kApart);
    EXPECT_EQ(less->sentence, "0.1000 below the base (0.5000); seed noise unknown");
    EXPECT_EQ(rows.difference(rows.rowOf("r-v1"), auc)->verdict, Verdict::kApart);
    EXPECT_EQ(rows.difference(rows.rowOf("r-v2"), auc)->verdict, Verdict::kApart);
    EXPECT_FALSE(rows.difference(rows.rowOf("r-base"), loss));
    EXPECT_FALSE(rows.difference(rows.rowOf("r-v1"), rows.columnOfKey("name")));
}

TEST_F(RunRowsTest, MarksAVariationThatLearnedAnotherLabel) {
    addFamily();
    RunSummary base = sampleRun("r-base", 0.5), other = sampleRun("r-v1", 0.4, "r-base", "five");
    base.params = {{"labels.liked.expr", "rating >= 4"}, {"batch.seed", "7"}};
    other.params = {{"labels.liked.expr", "rating >= 5"}, {"batch.seed", "7"}};
    table.apply(false, {base, other}, {});
    const int auc = rows.columnOfKey("metric:eval.auc");
    EXPECT_EQ(rows.difference(rows.rowOf("r-v1"), auc)->verdict, Verdict::kOtherLabel);
    EXPECT_EQ(rows.difference(rows.rowOf("r-v2"), auc)->verdict, Verdict::kApart)
        << "its labels are not known";
    other.params["labels.liked.expr"] = "rating >= 4";
    other.params["labels.liked.weight"] = "2";
    table.apply(false, {other}, {});
    EXPECT_EQ(rows.difference(rows.rowOf("r-v1"), auc)->verdict, Verdict::kApart)
        << "a weight is not a label";
}

TEST_F(RunRowsTest, DoesNotCompareWhatWasEvaluatedOnOtherRows) {
    addFamily();
    RunSummary other = sampleRun("r-v1", 0.4, "r-base", "keep-30");
    other.evalOrderHash = "bbbb";
    RunSummary unknown = sampleRun("r-v2", 0.6, "r-base", "keep-10");
    unknown.evalOrderHash = "";
    table.apply(false, {other, unknown}, {});
    const int auc = rows.columnOfKey("metric:eval.auc");
    EXPECT_EQ(rows.difference(rows.rowOf("r-v1"), auc)->verdict, Verdict::kOtherRows);
    EXPECT_TRUE(rows.index(rows.rowOf("r-v1"), auc)
                    .data(Qt::ToolTipRole)
                    .toString()
                    .contains("evaluated on other rows", Qt::CaseInsensitive));
    EXPECT_EQ(rows.difference(rows.rowOf("r-v2"), auc)->verdict, Verdict::kUnknownRows);
    const int loss = rows.columnOfKey("metric:loss");
    EXPECT_EQ(rows.difference(rows.rowOf("r-v1"), loss)->verdict, Verdict::kApart);
}

TEST_F(RunRowsTest, DoesNotCompareOrderHashesOfTwoVersions) {
    addFamily();
    for (const char* hash : {"aaaa", "bbbb"}) {
        RunSummary other = sampleRun("r-v1", 0.4, "r-base", "keep-30");
        other.evalOrderHash = hash;
        other.orderHashVersion = 1;
        table.apply(false, {other}, {});
        const int auc = rows.columnOfKey("metric:eval.auc");
        EXPECT_EQ(rows.difference(rows.rowOf("r-v1"), auc)->verdict, Verdict::kOtherHashes);
    }
}

TEST_F(RunRowsTest, DoesNotJudgeTheLossOfOtherTrainingRows) {
    addFamily();
    RunSummary fewer = sampleRun("r-v1", 0.2, "r-base", "keep-10");
    fewer.streamHash = "other";
    table.apply(false, {fewer}, {});
    const int loss = rows.columnOfKey("metric:loss"), auc = rows.columnOfKey("metric:eval.auc");
    EXPECT_EQ(rows.difference(rows.rowOf("r-v1"), loss)->verdict, Verdict::kOtherTraining);
    EXPECT_TRUE(
        rows.difference(rows.rowOf("r-v1"), loss)->sentence.contains("the losses do not compare"));
    EXPECT_EQ(rows.difference(rows.rowOf("r-v1"), auc)->verdict, Verdict::kApart);
}

TEST_F(RunRowsTest, KeepsTicksUntilTheRunIsGone) {
    addFamily();
    QSignalSpy ticks(&rows, &RunRows::ticksChanged);
    rows.setData(rows.index(rows.rowOf("r-v1"), 0), Qt::Checked, Qt::CheckStateRole);
    rows.setTicked("r-other", true);
    rows.setTicked("r-other", true);
    EXPECT_EQ(ticks.count(), 2);
    rows.setFilter({{"nowhere"}, {}, {}});
    EXPECT_THAT(rows.ticked(), ElementsAre("r-v1", "r-other"));
    table.apply(false, {}, {"r-v1"});
    EXPECT_THAT(rows.ticked(), ElementsAre("r-other"));
    rows.clearTicks();
    EXPECT_TRUE(rows.ticked().empty());
}

TEST_F(RunRowsTest, ChangesColumnsWithoutTouchingTheOthers) {
    addFamily();
    const QPersistentModelIndex kept = rows.index(0, rows.columnOfKey("metric:eval.auc"));
    rows.setColumns({"metric:eval.auc", "state", "name"});
    EXPECT_EQ(rows.columnCount(), 4);
    EXPECT_TRUE(kept.isValid());
    EXPECT_EQ(rows.columnAt(kept.column()).facts().key, "metric:eval.auc");
    EXPECT_EQ(rows.columnOfKey("variation"), -1);
}

TEST_F(RunRowsTest, CopiesRowsWithFullValues) {
    RunSummary run = sampleRun("r-a", 1.0 / 3);
    run.name = "tab\there";
    table.apply(true, {run}, {});
    rows.setColumns({"name", "metric:loss", "created"});
    const TextTable texts =
        rows.texts({0}, {0, rows.columnOfKey("name"), rows.columnOfKey("metric:loss"),
                         rows.columnOfKey("created")});
    EXPECT_EQ(asTsv(texts),
              "id\tName\tLoss\tCreated\n"
              "r-a\ttab here\t0.33333333333333331\t2023-11-14T22:13:20.000Z\n");
}

TEST_F(RunRowsTest, CopiesTheParametersInWhichRowsDiffer) {
    values::RunSummary first = sampleRun("r-a"), second = sampleRun("r-b");
    first.params = {{"batch.seed", "1"}, {"batch.rows", "64"}};
    second.params = {{"batch.seed", "2"}, {"batch.rows", "64"}, {"only", "here"}};
    table.apply(true, {first, second}, {});
    const TextTable texts = rows.texts({rows.rowOf("r-a"), rows.rowOf("r-b")}, {});
    EXPECT_EQ(asCsv(texts), "id,params.batch.seed,params.only\nr-a,1,\nr-b,2,here\n");
}

TEST(TextTableTest, QuotesWhatEachFormReservesForItself) {
    const TextTable table{{"a", "b|c"}, {{"x,y", "say \"no\""}, {"two\nlines", "1"}}};
    EXPECT_EQ(asCsv(table), "a,b|c\n\"x,y\",\"say \"\"no\"\"\"\n\"two\nlines\",1\n");
    EXPECT_EQ(asMarkdown(table),
              "| a | b\\|c |\n| --- | --- |\n| x,y | say \"no\" |\n| two<br>lines | 1 |\n");
    EXPECT_EQ(asTsv(table), "a\tb|c\nx,y\tsay \"no\"\ntwo lines\t1\n");
}

TEST_F(RunRowsTest, ShowsAnotherTableAndComesBack) {
    addFamily();
    RunTable deleted;
    deleted.apply(true, {sampleRun("r-deleted")}, {});
    rows.setTable(deleted);
    EXPECT_THAT(shown(), ElementsAre("r-deleted"));
    table.apply(false, {sampleRun("r-new")}, {});
    EXPECT_EQ(rows.rowCount(), 1);
    rows.setTable(table);
    EXPECT_EQ(rows.rowCount(), 5);
}

// The expected rows, computed by plain code.
std::vector<std::string> expectedRows(const RunTable& table, const RunFilter& filter, bool isNested,
                                      const QSet<QString>& folded, bool isDescending) {
    const auto isMatch = [&](const RunSummary& run) {
        const bool isState = filter.states.empty() || filter.states.count(run.state) > 0;
        const bool isId = !filter.ids || filter.ids->count(run.id) > 0;
        return isState && isId &&
               std::all_of(filter.words.begin(), filter.words.end(), [&](const QString& word) {
                   const auto has = [&](const std::string& text) {
                       return QString::fromStdString(text).contains(word, Qt::CaseInsensitive);
                   };
                   return has(run.name) || has(run.variation) || has(run.id);
               });
    };
    std::vector<const RunSummary*> sorted;
    for (int row = 0; row < table.numRuns(); ++row) {
        sorted.push_back(&table.run(row));
    }
    std::stable_sort(sorted.begin(), sorted.end(), [&](const RunSummary* a, const RunSummary* b) {
        const auto lossA = a->metric("loss"), lossB = b->metric("loss");
        if (lossA.has_value() != lossB.has_value()) {
            return lossA.has_value();
        }
        if (lossA && *lossA != *lossB) {
            return isDescending ? *lossA > *lossB : *lossA < *lossB;
        }
        return a->createdMs > b->createdMs;
    });
    std::vector<std::string> expected;
    for (const RunSummary* run : sorted) {
        const bool isBelow =
            isNested && !run->variationOf.empty() && table.rowOf(run->variationOf) >= 0;
        std::vector<std::string> below;
        for (const RunSummary* other : sorted) {
            if (isNested && other->variationOf == run->id && isMatch(*other)) {
                below.push_back(other->id);
            }
        }
        if (isBelow || (!isMatch(*run) && below.empty())) {
            continue;
        }
        expected.push_back(run->id);
        if (!folded.contains(QString::fromStdString(run->id))) {
            expected.insert(expected.end(), below.begin(), below.end());
        }
    }
    return expected;
}

TEST_F(RunRowsTest, ShowsWhatAPlainComputationShowsAfterRandomChanges) {
    std::mt19937 random(11);
    rows.setSort("metric:loss", Qt::AscendingOrder);
    bool isNested = true, isDescending = false;
    RunFilter filter;
    for (int round = 0; round < 500; ++round) {
        switch (random() % 8) {
            case 0:
                filter.words = random() % 2 == 0 ? QStringList()
                                                 : QStringList{"v" + QString::number(random() % 4)};
                rows.setFilter(filter);
                break;
            case 1:
                filter.states = random() % 2 == 0
                                    ? std::set<RunState>()
                                    : std::set<RunState>{RunState::kFailed, RunState::kRunning};
                rows.setFilter(filter);
                break;
            case 2:
                isDescending = !isDescending;
                rows.setSort("metric:loss",
                             isDescending ? Qt::DescendingOrder : Qt::AscendingOrder);
                break;
            case 3:
                rows.setExpanded("r-" + std::to_string(4 * (random() % 15)), random() % 2 == 0);
                break;
            case 4:
                isNested = random() % 3 != 0;
                rows.setNested(isNested);
                break;
            default: {
                std::vector<RunSummary> changed;
                for (unsigned i = random() % 10; i > 0; --i) {
                    changed.push_back(randomRun(random, 60));
                }
                table.apply(random() % 50 == 0, changed, {"r-" + std::to_string(random() % 60)});
            }
        }
        rows.settle();
        ASSERT_EQ(shown(), expectedRows(table, filter, isNested, rows.folded(), isDescending))
            << "round " << round;
        for (int row = 0; row < rows.rowCount(); ++row) {
            ASSERT_EQ(rows.rowOf(rows.idAt(row)), row);
        }
    }
}

TEST_F(RunRowsTest, SortsAndFiltersTenThousandRunsRight) {
    std::mt19937 random(3);
    std::vector<RunSummary> runs;
    for (int i = 0; i < 10'000; ++i) {
        runs.push_back(sampleRun("r-" + std::to_string(i), static_cast<double>(random()) / 1e9));
        runs.back().createdMs += i;
    }
    table.apply(true, runs, {});
    ASSERT_EQ(rows.rowCount(), 10'000);
    rows.setSort("metric:loss", Qt::AscendingOrder);
    for (int row = 1; row < rows.rowCount(); ++row) {
        ASSERT_LE(*rows.run(row - 1).metric("loss"), *rows.run(row).metric("loss"));
    }
    rows.setFilter({{"r-99"}, {}, {}});
    EXPECT_EQ(rows.rowCount(), 111);  // r-99, r-990 to r-999, r-9900 to r-9999
    rows.setFilter({});
    EXPECT_EQ(rows.rowCount(), 10'000);
}

}  // namespace
}  // namespace millrace::gui
