#include "app/gui/pages/runs/runs_view.h"

#include <QHeaderView>
#include <QScrollBar>
#include <set>

#include "app/gui/pages/runs/column_chooser.h"
#include "app/gui/pages/runs/parts/wrapped_header.h"
#include "tests/unit/gui_runs/runs_fixture.h"

namespace millrace::gui {
namespace {

using ::testing::ElementsAre;

class RunsViewTest : public RunsTest {
 protected:
    RunsView& view() { return page->view(); }
    int columnOf(const QString& key) { return page->rows().columnOfKey(key); }
    bool isIn(QTableView& half, const QString& key) { return !half.isColumnHidden(columnOf(key)); }
};

TEST_F(RunsViewTest, KeepsPinnedColumnsInTheLeftHalf) {
    open(10);
    EXPECT_TRUE(isIn(view().pinnedView(), "state"));
    EXPECT_FALSE(isIn(view().rowsView(), "state"));
    EXPECT_TRUE(isIn(view().rowsView(), "variation"));
    RunColumns columns = view().columns();
    columns.setPinned("variation", true);
    view().setColumns(columns);
    EXPECT_TRUE(isIn(view().pinnedView(), "variation"));
    EXPECT_FALSE(isIn(view().rowsView(), "variation"));
    EXPECT_EQ(view().pinnedView().width(), view().pinnedView().horizontalHeader()->length());
}

TEST_F(RunsViewTest, ShowsTheEvaluationMetricsThatTheRunsHave) {
    open(10);
    EXPECT_TRUE(view().columns().has("metric:eval.auc"));
    EXPECT_TRUE(view().columns().has("best:eval.auc"));
    EXPECT_TRUE(view().columns().has("trend:eval.auc"));
    const auto keys = view().columns().keys();
    EXPECT_LT(std::find(keys.begin(), keys.end(), "metric:eval.auc"),
              std::find(keys.begin(), keys.end(), "metric:loss"))
        << "the evaluation's column comes before the training loss";
}

TEST_F(RunsViewTest, NoHeadingIsCutHoweverManyMetricsAreShown) {
    open(5);
    view().resize(1'440, 600);
    RunColumns columns;
    for (int i = 0; i < 15; ++i) {
        const QString name = QString("test.head_%1.normalised_entropy_of_users_").arg(i);
        columns.add("metric:" + name);
        columns.add("best:" + name);
        columns.add("trend:" + name);
    }
    view().setColumns(columns);
    std::set<QString> read;
    const WrappedHeader& header = view().rowsView().header();
    for (int section = 1; section < header.count(); ++section) {
        if (header.isSectionHidden(section)) {
            continue;  // in the other half
        }
        const QString text = header.shownText(section);
        EXPECT_FALSE(text.contains(QChar(0x2026))) << text.toStdString();
        EXPECT_TRUE(read.insert(text).second) << text.toStdString() << " is there twice";
        const QString whole = page->rows().headerData(section, Qt::Horizontal).toString();
        EXPECT_EQ(text.simplified().remove(' '), whole.simplified().remove(' '));
        const QString tip =
            page->rows().headerData(section, Qt::Horizontal, Qt::ToolTipRole).toString();
        EXPECT_TRUE(tip.startsWith(whole + '\n'));
    }
    EXPECT_EQ(view().pinnedView().horizontalHeader()->height(), header.height());
    EXPECT_GT(header.height(), 2 * header.fontMetrics().height());
    // A column that the user made narrow shows both ends of each line.
    view().rowsView().horizontalHeader()->resizeSection(columnOf("rate"), 70);
    EXPECT_TRUE(header.shownText(columnOf("rate")).contains(QChar(0x2026)));
}

TEST_F(RunsViewTest, RemembersTheOrderAndWidthsOfItsColumns) {
    open(5);
    QTemporaryDir folder;
    QSettings settings(folder.filePath("s.ini"), QSettings::IniFormat);
    QHeaderView* header = view().rowsView().horizontalHeader();
    header->moveSection(header->visualIndex(columnOf("duration")),
                        header->visualIndex(columnOf("variation")));
    header->resizeSection(columnOf("rate"), 217);
    QCoreApplication::processEvents();
    const auto keys = view().columns().keys();
    EXPECT_EQ(keys[2], "duration");
    EXPECT_EQ(keys[3], "variation");
    page->saveState(settings);
    makePage();
    page->restoreState(settings);
    EXPECT_EQ(page->view().columns().keys(), keys);
    EXPECT_EQ(page->view().rowsView().columnWidth(columnOf("rate")), 217);
}

TEST_F(RunsViewTest, SortsByAHeaderAndComesBackToTheNewest) {
    open(10);
    QHeaderView* header = view().rowsView().horizontalHeader();
    const int column = columnOf("metric:loss");
    const auto click = [&] { Q_EMIT header->sectionClicked(column); };
    click();
    EXPECT_EQ(page->rows().sortKey(), "metric:loss");
    EXPECT_EQ(page->rows().sortOrder(), Qt::DescendingOrder);
    EXPECT_EQ(shown().front(), "r-00005");
    click();
    EXPECT_EQ(page->rows().sortOrder(), Qt::AscendingOrder);
    EXPECT_EQ(shown().front(), "r-00000");
    click();
    EXPECT_EQ(page->rows().sortKey(), "created");
}

TEST_F(RunsViewTest, ScrollsBothHalvesTogether) {
    open(200);
    view().rowsView().verticalScrollBar()->setValue(500);
    EXPECT_EQ(view().pinnedView().verticalScrollBar()->value(), 500);
    view().rowsView().verticalScrollBar()->setValue(
        view().rowsView().verticalScrollBar()->maximum());
    EXPECT_EQ(view().pinnedView().verticalScrollBar()->value(),
              view().rowsView().verticalScrollBar()->value());
}

TEST_F(RunsViewTest, GoesThroughRowsAndFoldsByKeys) {
    open(10);
    view().focusRows();
    EXPECT_EQ(view().currentId(), "r-00000");
    press(Qt::Key_Down);
    press(Qt::Key_Down);
    EXPECT_EQ(view().currentId(), "r-00002");
    press(Qt::Key_Left);
    EXPECT_EQ(view().currentId(), "r-00000") << "to its base";
    press(Qt::Key_Left);
    EXPECT_EQ(page->rows().rowCount(), 6);
    press(Qt::Key_Right);
    EXPECT_EQ(page->rows().rowCount(), 10);
    press(Qt::Key_Right);
    EXPECT_EQ(view().currentId(), "r-00001");
    press(Qt::Key_End, Qt::ControlModifier);
    EXPECT_EQ(view().currentId(), "r-00009");
}

TEST_F(RunsViewTest, KeepsTheSelectionWhileRowsChange) {
    open(20);
    view().select({"r-00003", "r-00001"});
    EXPECT_EQ(view().currentId(), "r-00003");
    values::RunSummary better = stored[0].summary;
    better.latestMetrics[3].value = 0.01;
    table.apply(false, {better}, {"r-00007"});
    page->rows().setSort("metric:loss", Qt::DescendingOrder);
    page->rows().setNested(false);
    EXPECT_THAT(view().selectedIds(), testing::UnorderedElementsAre("r-00003", "r-00001"));
    EXPECT_EQ(view().currentId(), "r-00003");
    page->rows().setFilter({{"keep"}, {}, {}});
    EXPECT_THAT(view().selectedIds(), ElementsAre("r-00001"));
}

TEST_F(RunsViewTest, SelectsWholeRowsOfColumnsThatCameLater) {
    open(5);
    view().select({"r-00001"});
    RunColumns columns = view().columns();
    columns.add("owner");
    view().setColumns(columns);
    EXPECT_TRUE(view().rowsView().selectionModel()->isSelected(
        page->rows().index(page->rows().rowOf("r-00001"), columnOf("owner"))));
}

TEST_F(RunsViewTest, FetchesCurvesForVisibleRowsOnly) {
    open(400);
    EXPECT_GT(daemon.numCalls("metricRange"), 10);
    EXPECT_LT(daemon.numCalls("metricRange"), 80);
    const int column = columnOf("best:eval.auc");
    EXPECT_FALSE(page->rows().index(0, column).data().toString().isEmpty());
    EXPECT_TRUE(page->rows().index(399, column).data().toString().isEmpty());
    view().rowsView().scrollToBottom();
    EXPECT_TRUE(
        until([&] { return !page->rows().index(399, column).data().toString().isEmpty(); }));
}

TEST_F(RunsViewTest, ReadsNoSeriesForABestValueThatTheDaemonKeeps) {
    for (values::RunDetail& run : stored = client::sceneRuns(120, 1'700'000'000'000)) {
        run.summary.bestMetrics = {{"eval.auc", 0.81, 300}};
        daemon.putDetail(run);
    }
    makePage();
    bridge.connectTo("unix:/fake.sock");
    ASSERT_TRUE(until([this] { return bridge.isSettled() && page->isSettled(); }));
    page->rows().setSort("best:eval.auc", Qt::DescendingOrder);
    Q_EMIT view().viewportChanged();
    const int column = columnOf("best:eval.auc");
    ASSERT_TRUE(settle());
    EXPECT_EQ(page->rows().index(119, column).data().toString(), "0.8100") << "far below the view";
    EXPECT_LT(daemon.numCalls("metricRange"), 80) << "curves of the visible rows only";
}

TEST_F(RunsViewTest, FetchesEveryBestValueWhenSortedByIt) {
    open(120);
    page->rows().setSort("best:eval.auc", Qt::DescendingOrder);
    Q_EMIT view().viewportChanged();
    const int column = columnOf("best:eval.auc");
    EXPECT_TRUE(until([&] {
        for (int row = 0; row < page->rows().rowCount(); ++row) {
            if (page->rows().index(row, column).data().toString().isEmpty()) {
                return false;
            }
        }
        return true;
    }));
}

TEST_F(RunsViewTest, AddsAnySpecKeyAsAColumn) {
    open(5);
    ColumnChooser* chooser = page->openChooser();
    ASSERT_TRUE(until([&] {
        chooser->setSearch("negatives.keep");
        return !chooser->offered().empty();
    }));
    EXPECT_THAT(chooser->offered(), ElementsAre("param:recipe.negatives.keep"));
    RunColumns columns = view().columns();
    columns.add("param:recipe.negatives.keep");
    Q_EMIT chooser->changed(columns);
    chooser->close();
    const int column = columnOf("param:recipe.negatives.keep");
    ASSERT_GT(column, 0);
    EXPECT_EQ(page->rows().index(page->rows().rowOf("r-00002"), column).data(), "0.1");
}

TEST_F(RunsViewTest, CopiesSelectedRowsAsATable) {
    open(5);
    view().select({"r-00001"});
    press(Qt::Key_C, Qt::ControlModifier);
    EXPECT_TRUE(clipboard().startsWith("id\tState\tName\tVariation\t"));
    EXPECT_TRUE(clipboard().contains("r-00001\trunning\tmovielens-dlrm\tkeep-30\t"));
}

TEST_F(RunsViewTest, PaintsTenThousandRowsWithoutAWidgetEach) {
    open(0);
    std::vector<values::RunSummary> runs;
    for (const values::RunDetail& run : client::sceneRuns(10'000, 1'800'000'000'000)) {
        runs.push_back(run.summary);
    }
    const auto before = page->findChildren<QWidget*>().size();
    table.apply(false, runs, {});
    page->grab();
    EXPECT_EQ(page->rows().rowCount(), 10'000);
    EXPECT_LT(page->findChildren<QWidget*>().size(), before + 60);
}

}  // namespace
}  // namespace millrace::gui
