#include <QAbstractItemModelTester>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/gui/models/data/sample_model.h"
#include "tests/unit/gui_data/sample_replies.h"

namespace millrace::gui {
namespace {

using ::testing::ElementsAre;
using Side = SampleModel::Side;

std::vector<std::pair<int, int>> pairsOf(const SampleDiff& diff) {
    std::vector<std::pair<int, int>> pairs;
    for (const SampleDiff::Row& row : diff.rows) {
        pairs.emplace_back(row.before, row.after);
    }
    return pairs;
}

CellState stateAt(const SampleModel& model, int row, int column) {
    return static_cast<CellState>(model.index(row, column).data(SampleModel::kStateRole).toInt());
}

values::SampleStage rowsOnly(std::vector<std::int64_t> ids) {
    std::vector<std::string> values;
    for (const std::int64_t id : ids) {
        values.push_back(std::to_string(id));
    }
    return sampleStage("s", "filter", std::move(ids), {sampleColumn("a", "int64", values)}, 0);
}

TEST(SampleDiff, AFilterRemovesRowsAndNothingElse) {
    const values::StepsReply reply = sampleSteps();
    const SampleDiff diff = sampleDiff(reply.stages[0], reply.stages[1]);
    EXPECT_THAT(pairsOf(diff),
                ElementsAre(std::pair(0, 0), std::pair(1, 1), std::pair(2, -1), std::pair(3, 2)));
    EXPECT_EQ(diff.numRemoved, 1);
    EXPECT_EQ(diff.numChangedCells, 0) << "a null is the same null";
    EXPECT_EQ(whatChanged(diff, reply.stages[0], reply.stages[1]), "removed 1 of 4 rows");
}

TEST(SampleDiff, AJoinAddsColumns) {
    const values::StepsReply reply = sampleSteps();
    const SampleDiff diff = sampleDiff(reply.stages[2], reply.stages[3]);
    EXPECT_EQ(diff.numColumnsAdded, 1);
    EXPECT_EQ(diff.beforeOf, (std::vector<int>{0, 1, -1}));
    EXPECT_EQ(whatChanged(diff, reply.stages[2], reply.stages[3]), "added genres");
}

TEST(SampleDiff, AHashChangesValuesInPlace) {
    const values::StepsReply reply = sampleSteps();
    const SampleDiff diff = sampleDiff(reply.stages[3], reply.stages[4]);
    EXPECT_EQ(diff.numChangedCells, 2);
    EXPECT_EQ(whatChanged(diff, reply.stages[3], reply.stages[4]), "changed 2 values in 2 rows");
}

TEST(SampleDiff, AStepThatIsOffChangesNothing) {
    const values::StepsReply reply = sampleSteps();
    const SampleDiff diff = sampleDiff(reply.stages[1], reply.stages[2]);
    EXPECT_EQ(whatChanged(diff, reply.stages[1], reply.stages[2]), "changed nothing in these rows");
}

TEST(SampleDiff, RowsThatComeStandWhereTheyCame) {
    const SampleDiff diff = sampleDiff(rowsOnly({1, 2}), rowsOnly({9, 1, 7, 2, 8}));
    EXPECT_THAT(pairsOf(diff), ElementsAre(std::pair(-1, 0), std::pair(0, 1), std::pair(-1, 2),
                                           std::pair(1, 3), std::pair(-1, 4)));
    EXPECT_EQ(diff.numAdded, 3);
}

TEST(SampleDiff, RepeatedAndReorderedRowIdsKeepEveryRowOnce) {
    const SampleDiff diff = sampleDiff(rowsOnly({5, 5, 6, 4}), rowsOnly({6, 9, 5, 5, 5}));
    int numBefore = 0, numAfter = 0;
    for (const SampleDiff::Row& row : diff.rows) {
        numBefore += row.before >= 0 ? 1 : 0;
        numAfter += row.after >= 0 ? 1 : 0;
    }
    EXPECT_EQ(numBefore, 4);
    EXPECT_EQ(numAfter, 5);
    EXPECT_EQ(diff.numRemoved, 1);
    EXPECT_EQ(diff.numAdded, 2);
}

TEST(SampleDiff, EmptyStagesAreFine) {
    EXPECT_TRUE(sampleDiff(rowsOnly({}), rowsOnly({})).rows.empty());
    EXPECT_EQ(sampleDiff(rowsOnly({1}), rowsOnly({})).numRemoved, 1);
}

TEST(SampleModel, BothSidesHaveTheSameRowsAndMarkWhatDiffers) {
    const values::StepsReply reply = sampleSteps();
    SampleModel before(Side::kBefore), after(Side::kAfter);
    QAbstractItemModelTester one(&before, QAbstractItemModelTester::FailureReportingMode::Fatal);
    QAbstractItemModelTester two(&after, QAbstractItemModelTester::FailureReportingMode::Fatal);
    const auto comparison = compareStages(reply.stages[0], reply.stages[4]);
    before.setComparison(comparison);
    after.setComparison(comparison);
    ASSERT_EQ(before.rowCount(), 4);
    ASSERT_EQ(after.rowCount(), 4);
    EXPECT_EQ(stateAt(before, 2, 0), CellState::kRemoved);
    EXPECT_EQ(stateAt(after, 2, 0), CellState::kGap);
    EXPECT_FALSE(after.index(2, 0).data().isValid());
    EXPECT_EQ(stateAt(before, 0, 0), CellState::kChanged);
    EXPECT_EQ(stateAt(after, 0, 0), CellState::kChanged);
    EXPECT_EQ(stateAt(after, 1, 0), CellState::kSame);
    EXPECT_EQ(stateAt(after, 1, 2), CellState::kAdded);
    EXPECT_EQ(after.headerData(2, Qt::Horizontal, SampleModel::kStateRole).toInt(),
              static_cast<int>(CellState::kAdded));
    EXPECT_EQ(after.headerData(2, Qt::Vertical).toString(), "2") << "the row id";
    EXPECT_EQ(after.index(1, 1).data().toString(), "null");
    EXPECT_TRUE(after.index(1, 1).data(SampleModel::kIsNullRole).toBool());
    EXPECT_TRUE(after.index(0, 0).data(Qt::ToolTipRole).toString().contains("before the step: 7"));
}

TEST(SampleModel, MayShowOnlyTheRowsThatChanged) {
    const values::StepsReply reply = sampleSteps();
    SampleModel after(Side::kAfter);
    after.setComparison(compareStages(reply.stages[0], reply.stages[1]));
    after.setOnlyChanges(true);
    ASSERT_EQ(after.rowCount(), 1);
    EXPECT_EQ(after.rowAt(0).rowId, 2);
    after.setComparison(aloneStage(reply.stages[0]));
    EXPECT_EQ(after.rowCount(), 4) << "nothing to compare with";
    after.setComparison(nullptr);
    EXPECT_EQ(after.rowCount(), 0);
    EXPECT_EQ(after.columnCount(), 0);
}

TEST(SampleModel, FindsTheFirstColumnThatIsMarked) {
    const values::StepsReply reply = sampleSteps();
    SampleModel after(Side::kAfter);
    after.setComparison(compareStages(reply.stages[2], reply.stages[3]));
    EXPECT_EQ(after.firstMarkedColumn(), 2);
    after.setComparison(compareStages(reply.stages[3], reply.stages[4]));
    EXPECT_EQ(after.firstMarkedColumn(), 0);
    after.setComparison(compareStages(reply.stages[1], reply.stages[2]));
    EXPECT_EQ(after.firstMarkedColumn(), -1);
}

TEST(SampleSteps, SayRowsInAndOutAndWhichAreOff) {
    SampleStepsModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setStages(sampleSteps().stages);
    ASSERT_EQ(model.rowCount(), 5);
    EXPECT_EQ(model.index(0).data(SampleStepsModel::kRowsRole).toString(), "4 rows");
    EXPECT_EQ(model.index(1).data(SampleStepsModel::kRowsRole).toString(),
              QString("4 → 3").replace(' ', QChar(0x2009)));
    EXPECT_DOUBLE_EQ(model.index(1).data(SampleStepsModel::kKeptRole).toDouble(), 0.75);
    EXPECT_FALSE(model.index(2).data(SampleStepsModel::kEnabledRole).toBool());
    model.setStages({});
    EXPECT_EQ(model.rowCount(), 0);
}

}  // namespace
}  // namespace millrace::gui
