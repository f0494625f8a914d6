#include "app/gui/models/data/dataset_model.h"

#include <QAbstractItemModelTester>
#include <QSortFilterProxyModel>
#include <numeric>

#include <gtest/gtest.h>

#include "app/gui/models/run_text.h"
#include "tests/unit/gui_data/sample_replies.h"

namespace millrace::gui {
namespace {

using Columns = DatasetColumnsModel;

TEST(DatasetTotals, HaveUnitsAndARatio) {
    const DatasetTotals totals = totalsOf(sampleDataset());
    EXPECT_EQ(totals.files, "3");
    EXPECT_EQ(totals.rows, "12,190");
    EXPECT_EQ(totals.rowGroups, "12");
    EXPECT_EQ(totals.disk, "240 kB");
    EXPECT_EQ(totals.ratio, QString::fromUtf8("3.0×"));
}

TEST(DatasetTotals, TextIsNotCompressed) {
    values::DatasetReply reply = sampleDataset();
    reply.format = "csv";
    EXPECT_EQ(totalsOf(reply).ratio, "");
    EXPECT_NE(totalsOf(reply).decoded, noneText());
}

TEST(DatasetTotals, WhatIsNotKnownIsNeverZero) {
    values::DatasetReply reply = sampleDataset();
    reply.format = "csv";
    reply.decodedBytes.reset();
    reply.rowGroups = 0;
    reply.files.clear();
    const DatasetTotals totals = totalsOf(reply);
    EXPECT_EQ(totals.decoded, noneText());
    EXPECT_EQ(totals.rowGroups, noneText());
    EXPECT_EQ(totals.ratio, "");
}

TEST(DatasetColumns, IsAGoodModelWhileItChanges) {
    Columns model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setReply(sampleDataset(1, 7));
    EXPECT_EQ(model.rowCount(), 7);
    model.setReply(sampleDataset(1, 2));
    model.clear();
    EXPECT_EQ(model.rowCount(), 0);
}

TEST(DatasetColumns, SayNullsWithTheirShareAndUnknownAsADash) {
    values::DatasetReply reply = sampleDataset();
    reply.rows = 1000;
    reply.columns[0].nulls.reset();
    reply.columns[0].min.clear();
    Columns model;
    model.setReply(reply);
    EXPECT_EQ(model.index(0, Columns::kNulls).data().toString(), noneText());
    EXPECT_EQ(model.index(0, Columns::kMin).data().toString(), noneText());
    EXPECT_EQ(model.index(2, Columns::kNulls).data().toString(), "200  (20 %)");
    EXPECT_DOUBLE_EQ(model.index(2, Columns::kNulls).data(kShareRole).toDouble(), 0.2);
    EXPECT_DOUBLE_EQ(model.index(3, Columns::kDisk).data(kShareRole).toDouble(), 1.0);
}

TEST(DatasetColumns, ShowWhatIsLeftOutBehindTheOthersAndWhyInItsToolTip) {
    values::DatasetReply reply = sampleDataset(1, 3);
    reply.leftOut = {{"pairs", "is a map<string, int64>: write two lists"}};
    Columns model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setReply(reply);
    ASSERT_EQ(model.rowCount(), 4);
    EXPECT_EQ(model.index(3, Columns::kName).data().toString(), "pairs");
    EXPECT_EQ(model.index(3, Columns::kType).data().toString(), "left out");
    EXPECT_EQ(model.index(3, Columns::kNulls).data().toString(), noneText());
    EXPECT_EQ(model.index(3, Columns::kType).data(Qt::ToolTipRole).toString(),
              "pairs is a map<string, int64>: write two lists");
    QSortFilterProxyModel proxy;
    proxy.setSourceModel(&model);
    proxy.setSortRole(kSortRole);
    proxy.sort(Columns::kDisk);
    EXPECT_EQ(proxy.index(0, Columns::kName).data().toString(), "pairs");
}

TEST(DatasetColumns, SortSizesAndExtremesByValueNotByText) {
    values::DatasetReply reply = sampleDataset(1, 3);
    reply.columns[0].max = "9";
    reply.columns[1].max = "100";
    reply.columns[2].max = "-3";
    reply.columns[0].diskBytes = 5'000'000;
    Columns model;
    model.setReply(reply);
    QSortFilterProxyModel proxy;
    proxy.setSourceModel(&model);
    proxy.setSortRole(kSortRole);
    proxy.sort(Columns::kMax);
    EXPECT_EQ(proxy.index(0, Columns::kMax).data().toString(), "-3");
    EXPECT_EQ(proxy.index(2, Columns::kMax).data().toString(), "100");
    proxy.sort(Columns::kDisk, Qt::DescendingOrder);
    EXPECT_EQ(proxy.index(0, Columns::kName).data().toString(), "column_0");
}

TEST(DatasetFiles, LeaveOutTheDirectoryThatAllShare) {
    DatasetFilesModel model;
    QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::Fatal);
    model.setReply(sampleDataset());
    EXPECT_EQ(model.index(0, DatasetFilesModel::kPath).data().toString(), "day=1/part-0.parquet");
    EXPECT_EQ(model.index(0, DatasetFilesModel::kPath).data(Qt::ToolTipRole).toString(),
              "/data/log/day=1/part-0.parquet");
    model.setReply(sampleDataset(1));
    EXPECT_EQ(model.index(0, DatasetFilesModel::kPath).data().toString(), "part-0.parquet");
}

TEST(DatasetFiles, StripsAreSharesOfTheLargestFile) {
    DatasetFilesModel model;
    model.setReply(sampleDataset());
    const auto strip = model.index(2, DatasetFilesModel::kStrip)
                           .data(DatasetFilesModel::kStripRole)
                           .value<QList<double>>();
    ASSERT_EQ(strip.size(), 5);
    EXPECT_NEAR(std::accumulate(strip.begin(), strip.end(), 0.0), 1, 1e-9);
}

TEST(RowGroupSizes, CountEveryRowGroupOnce) {
    const RowGroupSizes sizes = rowGroupSizes(sampleDataset().files, 8);
    EXPECT_TRUE(sizes.isDecoded);
    EXPECT_EQ(sizes.edges.size(), 9U);
    EXPECT_EQ(std::accumulate(sizes.counts.begin(), sizes.counts.end(), 0.0), 12);
    EXPECT_EQ(sizes.numRowGroups, 12);
    EXPECT_GE(sizes.medianBytes, 64'000);
}

TEST(RowGroupSizes, UseTheDiskWhereNothingElseIsKnown) {
    std::vector<values::DatasetFile> files = sampleDataset(1).files;
    for (values::RowGroupInfo& group : files[0].rowGroups) {
        group.decodedBytes = 0;
    }
    EXPECT_FALSE(rowGroupSizes(files).isDecoded);
    EXPECT_EQ(rowGroupSizes(files).medianBytes, 20'000);
    EXPECT_TRUE(rowGroupSizes({}).counts.empty());
}

TEST(Tsv, HasAHeaderAndNoTabsOfItsOwn) {
    values::DatasetReply reply = sampleDataset(1, 2);
    reply.columns[1].name = "a\tb";
    Columns model;
    model.setReply(reply);
    EXPECT_EQ(tsvOf(model, {0, 1}, {Columns::kName, Columns::kType}),
              "Column\tType\ncolumn_0\tint64\na b\tlist<int64>\n");
}

}  // namespace
}  // namespace millrace::gui
