// The parts of the page Runs, each alone.
#include <QClipboard>
#include <QFile>
#include <QFileDialog>
#include <QGuiApplication>
#include <QMenu>
#include <QPainter>
#include <QSignalSpy>
#include <QTemporaryDir>

#include "app/gui/models/runs/run_rows.h"
#include "app/gui/pages/runs/column_chooser.h"
#include "app/gui/pages/runs/deleted_runs.h"
#include "app/gui/pages/runs/parts/run_cell_delegate.h"
#include "app/gui/pages/runs/parts/table_export.h"
#include "app/gui/pages/runs/run_pages.h"
#include "app/gui/pages/runs/run_panels.h"
#include "app/gui/pages/runs/runs_body.h"
#include "app/gui/pages/runs/runs_filter.h"
#include "app/gui/pages/runs/runs_menus.h"
#include "app/gui/pages/runs/shown_columns.h"
#include "app/gui/widgets/panels.h"
#include "tests/unit/gui_runs/runs_fixture.h"

namespace millrace::gui {
namespace {

using testing::ElementsAre;

class PagePartsTest : public RunsTest {
 protected:
    int numLists() { return daemon.numCalls("list"); }

    QWidget parent;
    RunRows rows{table};
    RunTrends trends;
};

TEST_F(PagePartsTest, RunPagesAsksForOnePageAfterTheOther) {
    load(2'500);
    RunPages pages(bridge, nullptr);
    std::vector<std::size_t> sizes;
    std::vector<bool> isFirst;
    bool hasEnded = false;
    const int before = numLists();
    pages.start(
        {},
        [&](const values::RunPage& page, bool first) {
            sizes.push_back(page.runs.size());
            isFirst.push_back(first);
        },
        [&](const Status& status) { hasEnded = status.ok(); });
    EXPECT_TRUE(pages.isReading());
    ASSERT_TRUE(until([&] { return hasEnded; }));
    EXPECT_FALSE(pages.isReading());
    EXPECT_THAT(sizes, ElementsAre(1'000U, 1'000U, 500U));
    EXPECT_THAT(isFirst, ElementsAre(true, false, false));
    EXPECT_EQ(numLists(), before + 3);
}

TEST_F(PagePartsTest, RunPagesTellsNothingOfAListThatANewerOneReplaced) {
    load(5);
    RunPages pages(bridge, nullptr);
    int numOld = 0, numNew = 0;
    daemon.hang("list");
    pages.start({}, [&](const auto&, bool) { ++numOld; }, [&](const Status&) { ++numOld; });
    ASSERT_TRUE(until([&] { return daemon.numHanging() > 0; }));
    pages.start({}, [&](const auto&, bool) { ++numNew; }, [&](const Status&) { ++numNew; });
    daemon.release("list");
    ASSERT_TRUE(until([&] { return numNew == 2 && bridge.isSettled(); }));
    EXPECT_EQ(numOld, 0);
}

TEST_F(PagePartsTest, RunPagesEndsWithTheDaemonsStatus) {
    load(5);
    RunPages pages(bridge, nullptr);
    std::string message;
    daemon.fail("list", failedPrecondition("the store is full"));
    pages.start(
        {}, [&](const auto&, bool) { ADD_FAILURE(); },
        [&](const Status& status) { message = std::string(messageOf(status)); });
    EXPECT_TRUE(until([&] { return message == "the store is full"; }));
    EXPECT_FALSE(pages.isReading());
}

TEST_F(PagePartsTest, TheFilterAppliesWordsAtOnceAndExpressionsByTheDaemon) {
    load(20);
    FilterBar bar(&parent);
    RunsFilter filter(bridge, bar, rows, nullptr);
    QSignalSpy applied(&filter, &RunsFilter::applied);
    bar.setText("wide");
    EXPECT_EQ(rows.numMatching(), 4);
    EXPECT_EQ(applied.count(), 1);
    EXPECT_TRUE(filter.isSettled());
    daemon.onFilter = [](const std::string&, const values::RunSummary& run) {
        return run.id == "r-00003";
    };
    bar.setText("metrics.loss < 1");
    EXPECT_EQ(rows.numMatching(), 4) << "until the daemon has answered";
    EXPECT_FALSE(filter.isSettled());
    ASSERT_TRUE(until([&] { return filter.isSettled(); }));
    EXPECT_EQ(rows.numMatching(), 1);
    filter.clear();
    EXPECT_EQ(rows.numMatching(), 20);
    EXPECT_EQ(bar.text(), "");
}

TEST_F(PagePartsTest, TheFilterForgetsWhatItAskedADaemonThatWasLeft) {
    load(5);
    FilterBar bar(&parent);
    RunsFilter filter(bridge, bar, rows, nullptr);
    daemon.hang("parseFilter");
    bar.setText("metrics.loss < 1");
    ASSERT_TRUE(until([&] { return daemon.numHanging() > 0; }));
    bridge.connectTo("unix:/other.sock");
    filter.drop();
    EXPECT_TRUE(filter.isSettled());
    daemon.release("parseFilter");
}

TEST_F(PagePartsTest, DeletedRunsHaveATableOfTheirOwn) {
    load(5);
    DeletedRuns deleted(bridge, nullptr);
    QSignalSpy failed(&deleted, &DeletedRuns::failed);
    daemon.removeRun("r-00004");
    deleted.read();
    ASSERT_TRUE(until([&] { return deleted.table().numRuns() == 1; }));
    EXPECT_EQ(deleted.table().param(0, "model.embedding_dim"), "32") << "columns show parameters";
    daemon.restoreRun("r-00004");
    deleted.read();
    ASSERT_TRUE(until([&] { return deleted.isSettled(); }));
    EXPECT_EQ(deleted.table().numRuns(), 0);
    daemon.fail("list", unavailable("the disk is away"));
    deleted.read();
    ASSERT_TRUE(until([&] { return failed.count() == 1; }));
    EXPECT_EQ(failed[0][0].toString(), "The disk is away.");
}

TEST_F(PagePartsTest, TheBodySaysWhyThereIsNoTable) {
    RunsBody body(nullptr);
    auto* shown = new QWidget(&body);
    body.setTable(*shown);
    const auto title = [&] {
        const auto* state = qobject_cast<EmptyState*>(body.currentWidget());
        return state == nullptr ? QString("the table") : state->title()->text();
    };
    session::Link link;
    link.state = session::LinkState::kConnected;
    EXPECT_FALSE(body.showFor({0, 0, false, false, true}, link));
    EXPECT_EQ(title(), "Reading the runs …");
    body.showFor({0, 0, false, true, true}, link);
    EXPECT_EQ(title(), "No runs yet");
    body.showFor({0, 0, true, true, true}, link);
    EXPECT_EQ(title(), "No deleted runs");
    body.showFor({7, 0, false, true, true}, link);
    EXPECT_EQ(title(), "No run matches");
    EXPECT_TRUE(body.showFor({7, 3, false, true, true}, link)) << "it has just come";
    EXPECT_EQ(title(), "the table");
    EXPECT_FALSE(body.showFor({7, 3, false, true, true}, link));
    link.state = session::LinkState::kRefused;
    link.sentence = "it speaks another protocol";
    body.showFor({0, 0, false, true, true}, link);
    EXPECT_EQ(title(), "No daemon");
    body.showFor({7, 3, false, true, true}, link);
    EXPECT_EQ(title(), "the table") << "what is known stays while the daemon is away";
}

class TablePartsTest : public PagePartsTest {
 protected:
    std::vector<QString> columnKeys() { return view.columns().keys(); }
    bool hasEntry(const QMenu& menu, const QString& text, bool isEnabled) {
        for (const QAction* action : menu.actions()) {
            if (action->text() == text) {
                return action->isEnabled() == isEnabled;
            }
        }
        return false;
    }
    RunsView view{rows, trends, colors, &parent};
    ShownColumns columns{view, rows, table, &parent};
    RunActions actions{bridge, table, &parent};
    TableExport rowsOut{bridge, [this] { return view.selectedTexts(); }, &parent};
    RunsMenus menus{rows, view, actions, columns, rowsOut, &parent};
};

TEST_F(TablePartsTest, ColumnsShowTheMetricsOfTheRunsUntilSomebodyChooses) {
    load(5);
    columns.chooseUsual();
    EXPECT_THAT(columnKeys(), testing::Contains("metric:eval.auc"));
    RunColumns own;
    own.remove("duration");
    columns.set(own);
    columns.chooseUsual();
    EXPECT_EQ(view.columns(), own);
    QTemporaryDir dir;
    QSettings settings(dir.filePath("columns.ini"), QSettings::IniFormat);
    columns.save(settings);
    view.setColumns(RunColumns());
    columns.restore(settings);
    EXPECT_EQ(columnKeys(), own.keys());
}

TEST_F(TablePartsTest, ADifferenceStandsBesideItsFigure) {
    load(5);
    values::RunSummary base = *table.find("r-00000"), run = *table.find("r-00001");
    base.meanRate = 1'234'567;
    run.state = values::RunState::kFinished;
    run.meanRate = 1'000'000;
    table.apply(false, {base, run}, {});
    view.setColumns(RunColumns());
    const int column = rows.columnOfKey("rate");
    const QModelIndex index = rows.index(rows.rowOf("r-00001"), column);
    const QString label = differenceLabel(*rows.difference(index.row(), column));
    const RunCellDelegate delegate(rows, trends, colors, nullptr);
    QStyleOptionViewItem option;
    option.initFrom(&view);
    option.rect = QRect(0, 0, delegate.widthOf(index, option.font), 30);
    QImage image(option.rect.size(), QImage::Format_RGB32);
    QPainter painter(&image);
    delegate.paint(&painter, option, index);
    painter.end();
    QFont small = option.font;
    small.setPointSizeF(small.pointSizeF() * 0.9);
    const int edge = image.width() - 8 - QFontMetrics(small).horizontalAdvance(label);
    for (int x = edge - 5; x < edge - 1; ++x) {
        for (int y = 2; y < 26; ++y) {
            ASSERT_EQ(image.pixel(x, y), image.pixel(1, 2)) << x << ", " << label.toStdString();
        }
    }
}

TEST_F(TablePartsTest, TheChooserChangesColumnsAtOnceAndPutsThemBack) {
    load(5);
    QWidget anchor(&parent);
    ColumnChooser* chooser = columns.openChooser(anchor);
    RunColumns wanted = view.columns();
    wanted.add("param:batch.rows");
    Q_EMIT chooser->changed(wanted);
    EXPECT_THAT(columnKeys(), testing::Contains("param:batch.rows"));
    Q_EMIT chooser->resetAsked();
    EXPECT_THAT(columnKeys(), testing::Not(testing::Contains("param:batch.rows")));
    EXPECT_THAT(columnKeys(), testing::Contains("metric:eval.auc"));
    chooser->close();
}

TEST_F(TablePartsTest, AColumnOfAParameterAsksTheDaemonNothing) {
    load(5);
    const int before = numLists();
    QWidget anchor(&parent);
    ColumnChooser* chooser = columns.openChooser(anchor);
    chooser->setSearch("negatives.keep");
    EXPECT_THAT(chooser->offered(), ElementsAre("param:recipe.negatives.keep"));
    RunColumns wanted = view.columns();
    wanted.add("param:recipe.negatives.keep");
    columns.set(wanted);
    const int column = rows.columnOfKey("param:recipe.negatives.keep");
    EXPECT_EQ(rows.index(rows.rowOf("r-00002"), column).data(), "0.1");
    EXPECT_EQ(numLists(), before) << "every run came with its parameters";
    chooser->close();
}

TEST_F(TablePartsTest, TheMenuOfRunsOffersWhatTheSelectionAllows) {
    load(5);
    EXPECT_EQ(menus.openOfRuns(false, {}), nullptr) << "nothing is selected";
    rows.setColumns(view.columns().keys());
    view.select({"r-00000"});
    QMenu* menu = menus.openOfRuns(false, {});
    EXPECT_TRUE(hasEntry(*menu, "Launch again …", true));
    EXPECT_TRUE(hasEntry(*menu, "Change and launch …", true));
    EXPECT_TRUE(hasEntry(*menu, "Delete", true));
    EXPECT_TRUE(hasEntry(*menu, "Stop …", false)) << "it has finished";
    menu->close();
    view.select({"r-00000", "r-00001"});
    menu = menus.openOfRuns(false, {});
    EXPECT_TRUE(hasEntry(*menu, "Launch again …", true));
    EXPECT_TRUE(hasEntry(*menu, "Change and launch …", false));
    EXPECT_TRUE(hasEntry(*menu, "Copy ids", true));
    EXPECT_TRUE(hasEntry(*menu, "Copy rows as Markdown", true));
    EXPECT_TRUE(hasEntry(*menu, "Stop …", true)) << "the other runs";
    menu->close();
    menu = menus.openOfRuns(true, {});
    EXPECT_TRUE(hasEntry(*menu, "Restore", true));
    EXPECT_TRUE(hasEntry(*menu, "Watch", false));
    EXPECT_FALSE(hasEntry(*menu, "Delete", true));
    menu->close();
}

TEST_F(TablePartsTest, RowsAreCopiedAndSavedWithTheirIds) {
    load(5);
    rows.setColumns(view.columns().keys());
    view.select({"r-00000", "r-00001"});
    QSignalSpy said(&rowsOut, &TableExport::said);
    rowsOut.copyMarkdown();
    EXPECT_TRUE(QGuiApplication::clipboard()->text().startsWith("| id | "));
    QTemporaryDir folder;
    for (const QString& name : {QString("rows.csv"), QString("rows.md")}) {
        rowsOut.save();
        auto* dialog = parent.findChild<QFileDialog*>();
        ASSERT_NE(dialog, nullptr);
        Q_EMIT dialog->fileSelected(folder.filePath(name));
        const int before = static_cast<int>(said.size());
        ASSERT_TRUE(until([&] { return said.size() > before; }));
        delete dialog;
        QFile file(folder.filePath(name));
        ASSERT_TRUE(file.open(QIODevice::ReadOnly));
        const QString text = QString::fromUtf8(file.readAll());
        EXPECT_TRUE(text.contains("r-00000") && text.contains("r-00001")) << text.toStdString();
        EXPECT_EQ(text.startsWith("| id |"), name.endsWith("md"));
    }
    rowsOut.save();
    Q_EMIT parent.findChild<QFileDialog*>()->fileSelected("/proc/no/rows.csv");
    const int before = static_cast<int>(said.size());
    ASSERT_TRUE(until([&] { return said.size() > before; }));
    EXPECT_EQ(said.back().at(0).value<Notice>().kind, Notice::Kind::kError);
}

TEST_F(TablePartsTest, TheMenuOfAColumnPinsAndRemovesIt) {
    load(5);
    QSignalSpy asked(&menus, &RunsMenus::chooserAsked);
    const auto choose = [&](const QString& text) {
        QMenu* menu = menus.openOfColumn("duration", {});
        for (QAction* action : menu->actions()) {
            if (action->text() == text) {
                action->trigger();
            }
        }
        menu->close();
    };
    const int numPinned = view.columns().numPinned();
    choose("Pin to the left");
    EXPECT_EQ(view.columns().numPinned(), numPinned + 1);
    choose("Unpin");
    EXPECT_EQ(view.columns().numPinned(), numPinned);
    choose("Sort ascending");
    EXPECT_EQ(rows.sortKey(), "duration");
    EXPECT_EQ(rows.sortOrder(), Qt::AscendingOrder);
    choose("Remove");
    EXPECT_FALSE(view.columns().has("duration"));
    choose("Choose columns …");
    EXPECT_EQ(asked.count(), 1);
}

TEST_F(TablePartsTest, ThePanelsShowTheCurrentRunAndCompareWhatIsTicked) {
    load(5);
    RunPanels panels(PageContext{bridge, table, colors, spec}, rows, view, actions, &parent);
    QObject::connect(&rows, &RunRows::ticksChanged, &panels, &RunPanels::selectionChanged);
    view.select({"r-00002"});
    panels.selectionChanged();
    ASSERT_TRUE(until([&] { return panels.details().runId() == "r-00002"; }));
    EXPECT_TRUE(panels.compare().runs().empty());
    EXPECT_FALSE(panels.isTabEnabled(1));
    rows.setTicked("r-00000", true);
    rows.setTicked("r-00001", true);
    ASSERT_TRUE(until([&] { return panels.compare().runs().size() == 2; }));
    EXPECT_EQ(panels.currentWidget(), &panels.compare());
    EXPECT_EQ(panels.tabText(1), "Compare  2");
    EXPECT_EQ(panels.details().runId(), "r-00002") << "the current run is another";
    panels.openDetails();
    EXPECT_EQ(panels.currentWidget(), &panels.details());
    ASSERT_TRUE(until([&] { return panels.isSettled(); }));
    panels.drop();
    EXPECT_EQ(panels.details().runId(), "");
}

}  // namespace
}  // namespace millrace::gui
