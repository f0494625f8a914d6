#include "app/gui/pages/runs/runs_page.h"

#include <QAbstractButton>
#include <QComboBox>
#include <QMessageBox>
#include <QScrollBar>
#include <QSlider>
#include <QTabWidget>
#include <QTableView>

#include "app/gui/charts/plot_widget.h"
#include "app/gui/pages/runs/parts/chart_board.h"
#include "app/gui/pages/runs/parts/run_cell_delegate.h"
#include "app/gui/widgets/look.h"
#include "tests/unit/gui_runs/runs_fixture.h"

namespace millrace::gui {
namespace {

using ::testing::ElementsAre;

class RunsPageTest : public RunsTest {
 protected:
    ChartBoard& board() { return page->compare().board(); }
    const Curves& curves(std::size_t plot) {
        return std::get<Curves>(board().plots()[plot]->content());
    }
    /// Ticks two runs and waits for their curves.
    void compareTwo() {
        open(5);
        page->view().select({"r-00000"});
        press(Qt::Key_Space);
        page->view().select({"r-00004"});
        press(Qt::Key_Space);
        ASSERT_TRUE(until([&] { return page->compare().diff().runs().size() == 2; }));
        ASSERT_TRUE(settle());
    }
    bool hasCommand(const QString& title) {
        for (const Command& command : page->commands()) {
            if (command.title == title && command.isEnabled) {
                return true;
            }
        }
        return false;
    }
    QAbstractButton* question(const QString& text) {
        for (QWidget* window : QApplication::topLevelWidgets()) {
            for (QAbstractButton* button : window->findChildren<QAbstractButton*>()) {
                if (qobject_cast<QMessageBox*>(window) != nullptr && button->text() == text) {
                    return button;
                }
            }
        }
        return nullptr;
    }
};

TEST_F(RunsPageTest, ComparesTickedRuns) {
    compareTwo();
    EXPECT_THAT(page->compare().runs(), ElementsAre("r-00000", "r-00004"));
    EXPECT_TRUE(page->compare().isVisible());
    const RunDiff& diff = page->compare().diff();
    QStringList names;
    for (int row = 0; row < diff.rowCount(); ++row) {
        names.append(diff.index(row, 0).data().toString());
    }
    EXPECT_TRUE(names.contains("model.embedding_dim"));
    EXPECT_TRUE(names.contains("Git: Working tree"));
    EXPECT_FALSE(names.contains("batch.rows"));
    page->compare().setOnlyDifferent(false);
    EXPECT_GT(diff.rowCount(), names.size());
}

TEST_F(RunsPageTest, NamesOfComparedFactsStayWhileTheRunsAreScrolled) {
    open(5);
    page->view().select({"r-00000", "r-00001", "r-00002", "r-00003", "r-00004"});
    const RunDiff& diff = page->compare().diff();
    ASSERT_TRUE(until([&] { return diff.runs().size() == 5 && diff.rowCount() > 4; }));
    page->compare().setOnlyDifferent(false);
    ASSERT_TRUE(until([&] { return page->compare().isVisible() && settle(); }));
    bool hasName = false, hasValue = false;
    for (QTableView* view : page->compare().findChildren<QTableView*>()) {
        view->horizontalScrollBar()->setValue(view->horizontalScrollBar()->maximum());
        view->verticalScrollBar()->setValue(1);
        const auto isShown = [&](int column) {
            return view->viewport()->rect().intersects(view->visualRect(diff.index(2, column)));
        };
        hasName = hasName || isShown(0);
        hasValue = hasValue || isShown(5);
    }
    EXPECT_TRUE(hasName);
    EXPECT_TRUE(hasValue);
    for (const QTableView* view : page->compare().findChildren<QTableView*>()) {
        EXPECT_EQ(view->rowAt(1), 1);
    }
}

TEST_F(RunsPageTest, FiguresOfComparedRunsAreNotCutWhereThereIsLittleRoom) {
    compareTwo();
    QTableView& table = page->compare().table();
    QFont font = table.font();
    font.setPixelSize(26);
    table.setFont(font);
    page->resize(900, 700);
    ASSERT_TRUE(settle());
    QFont bold = font;
    bold.setBold(true);
    const RunDiff& diff = page->compare().diff();
    int numFigures = 0;
    for (int row = 0; row < diff.rowCount(); ++row) {
        if (const auto against = diff.difference(row, 2)) {
            const QString figure = diff.index(row, 2).data().toString();
            const int needed =
                QFontMetrics(bold).horizontalAdvance(figure) +
                QFontMetrics(captionFont(font)).horizontalAdvance(differenceLabel(*against));
            EXPECT_GE(table.columnWidth(2), needed + 24) << figure.toStdString();
            ++numFigures;
        }
    }
    EXPECT_GT(numFigures, 0);
}

TEST_F(RunsPageTest, ComparesRowByRowAndSaysWhyNot) {
    std::vector<values::PairRequest> asked;
    daemon.onPair = [&](const values::PairRequest& request) -> Result<values::PairReply> {
        asked.push_back(request);
        values::RunPair pair;
        pair.run = "r-00004";
        pair.hasScores = true;
        pair.rows = 100;
        pair.share = 1;
        pair.heads = {{"click", 100, 0, 0.5, 0.4, 0.1}};
        return values::PairReply{{pair}};
    };
    compareTwo();
    ASSERT_TRUE(settle());
    ASSERT_EQ(asked.size(), 1U);
    EXPECT_THAT(asked[0].runs, ElementsAre("r-00000", "r-00004"));
    EXPECT_EQ(page->compare().unpairedText(), "");
    EXPECT_TRUE(page->compare().remarksText().endsWith("moves these figures too."));
    const RunDiff& diff = page->compare().diff();
    EXPECT_TRUE(asTsv(diff.texts()).contains("log loss of click\t0.4000000000000000"))
        << asTsv(diff.texts()).toStdString();
    daemon.onPair = [](const values::PairRequest&) -> Result<values::PairReply> {
        values::RunPair pair;
        pair.run = "r-00001";
        pair.without = {"r-00001"};
        return values::PairReply{{pair}};
    };
    page->compare().setRuns({"r-00000", "r-00001"});
    ASSERT_TRUE(settle());
    EXPECT_EQ(page->compare().unpairedText(),
              "Not compared row by row: r-00001 has no scores of an evaluation.");
    EXPECT_FALSE(asTsv(diff.texts()).contains("log loss of click"));
    daemon.onPair = [](const values::PairRequest&) -> Result<values::PairReply> {
        return absl::UnimplementedError("the daemon does not know this request");
    };
    page->compare().setRuns({"r-00000", "r-00002"});
    ASSERT_TRUE(settle());
    EXPECT_TRUE(page->compare().unpairedText().contains("does not know this request"));
}

TEST_F(RunsPageTest, OverlaysTheCurvesOfComparedRunsInTheirColours) {
    compareTwo();
    ASSERT_EQ(board().plots().size(), 4U);
    EXPECT_EQ(board().chosen().front(), "loss");
    ASSERT_EQ(curves(0).curves.size(), 2U);
    EXPECT_EQ(curves(0).curves[0].color, colors.of("r-00000").color);
    EXPECT_NE(curves(0).curves[0].color, curves(0).curves[1].color);
    EXPECT_EQ(curves(0).curves[0].store->size(), 630U);
    board().findChild<QSlider*>()->setValue(90);
    EXPECT_NEAR(curves(0).curves[0].smoothing, 0.9, 0.011);
    board().findChild<QComboBox*>()->setCurrentIndex(1);
    EXPECT_EQ(board().plots()[2]->xAxis(), XAxis::kRows) << "all charts share the axis";
    for (QAbstractButton* button : board().findChildren<QAbstractButton*>()) {
        button->setChecked(button->text() == "log");
    }
    EXPECT_TRUE(board().plots()[0]->isLogY());
    board().choose({"samples_per_second"});
    EXPECT_EQ(board().plots().size(), 1U);
    EXPECT_TRUE(until([&] { return curves(0).curves.size() == 2; }));
}

TEST_F(RunsPageTest, FetchesMorePointsWhereSomebodyZoomsIn) {
    stored.clear();
    open(5);
    for (values::RunDetail& run : stored) {
        run.summary.progress.step = 100'000;
        daemon.putDetail(run);
    }
    page->rows().setTicked("r-00000", true);
    page->rows().setTicked("r-00004", true);
    ASSERT_TRUE(until([&] {
        return page->isSettled() && !board().plots().empty() && !curves(0).curves.empty() &&
               curves(0).curves[0].store->size() > 1'000;
    }));
    const int asked = daemon.numCalls("metricRange");
    board().link().setView({10'000, 10'500});
    EXPECT_TRUE(until([&] { return daemon.numCalls("metricRange") >= asked + 2; }));
}

TEST_F(RunsPageTest, ReadsARunningRunAgain) {
    open(5);
    page->rows().setTicked("r-00000", true);
    page->rows().setTicked("r-00001", true);
    ASSERT_TRUE(until([&] { return page->isSettled() && !board().plots().empty(); }));
    stored[1].summary.progress.step = 500;
    daemon.putDetail(stored[1]);
    EXPECT_TRUE(until(
        [&] { return curves(0).curves.size() == 2 && curves(0).curves[1].store->size() == 500; }));
}

TEST_F(RunsPageTest, ComparesWhatIsSelectedWhenNothingIsTicked) {
    open(5);
    page->view().select({"r-00000", "r-00002"});
    EXPECT_TRUE(until([&] { return page->compare().runs().size() == 2; }));
    page->view().select({"r-00002"});
    EXPECT_TRUE(until([&] { return page->compare().runs().empty(); }));
    EXPECT_EQ(page->details().runId(), "r-00002");
}

TEST_F(RunsPageTest, ANoticeCallsARunByItsNameWhateverWasDoneToIt) {
    open(5);
    page->view().select({"r-00004"});
    press(Qt::Key_Delete);
    ASSERT_TRUE(until([&] { return page->rows().rowCount() == 4 && !notices.empty(); }));
    const QString name = notices.back().text.section(' ', 1);
    EXPECT_FALSE(name.contains("r-00004"));
    notices.back().action();
    ASSERT_TRUE(until([&] { return page->rows().rowCount() == 5 && notices.size() == 2; }));
    EXPECT_EQ(notices.back().text, "Restored " + name);
}

TEST_F(RunsPageTest, CommandsOfTheSelectedRunsCountNoneAsNoNumber) {
    open(5);
    page->view().select({});
    for (const Command& command : page->commands()) {
        EXPECT_FALSE(command.title.contains('0')) << command.title.toStdString();
    }
}

TEST_F(RunsPageTest, DeletesSeveralWithOneUndo) {
    open(10);
    page->view().select({"r-00008", "r-00009"});
    press(Qt::Key_Delete);
    ASSERT_TRUE(until([&] { return page->rows().rowCount() == 8 && !notices.empty(); }));
    ASSERT_EQ(notices.back().actionText, "Undo");
    EXPECT_EQ(notices.back().text, "Deleted 2 runs.");
    notices.back().action();
    EXPECT_TRUE(until([&] { return page->rows().rowCount() == 10; }));
    EXPECT_EQ(daemon.numCalls("restore"), 2);
}

TEST_F(RunsPageTest, SaysWhyARunCannotBeDeletedAndDeletesTheOthers) {
    open(5);
    daemon.fail("remove", failedPrecondition("r-00001 is running; 'millrace stop' ends it first"));
    page->actions().remove({"r-00001"});
    ASSERT_TRUE(until([&] { return !notices.empty(); }));
    EXPECT_EQ(notices.back().kind, Notice::Kind::kError);
    EXPECT_TRUE(notices.back().text.contains("is running"));
    EXPECT_EQ(page->rows().rowCount(), 5);
}

TEST_F(RunsPageTest, AsksBeforeItStopsARun) {
    open(5);
    page->view().select({"r-00001"});
    page->actions().stop(page->selected());
    ASSERT_TRUE(until([&] { return question("Stop movielens-dlrm keep-30") != nullptr; }));
    EXPECT_EQ(daemon.numCalls("stop"), 0);
    question("Stop movielens-dlrm keep-30")->click();
    EXPECT_TRUE(until([&] { return daemon.numCalls("stop") == 1; }));
    EXPECT_TRUE(
        until([&] { return table.find("r-00001")->state == values::RunState::kCancelled; }));
    page->actions().stop({"r-00000"});
    EXPECT_TRUE(notices.back().text.contains("have ended"));
}

TEST_F(RunsPageTest, CopiesTheCommandAndOpensARunToChangeIt) {
    open(5);
    page->actions().copyCommand("r-00001");
    ASSERT_TRUE(until([&] { return clipboard().startsWith("millrace run "); }));
    EXPECT_EQ(clipboard(), "millrace run /srv/ada/movielens/movielens.yaml --variation keep-30");
    page->actions().changeAndLaunch("r-00001");
    ASSERT_TRUE(until([&] { return !gone.empty(); }));
    EXPECT_EQ(gone[0].page, PageName::kLaunch);
    ASSERT_NE(gone[0].changed, nullptr);
    EXPECT_EQ(gone[0].changed->summary.id, "r-00001");
    page->actions().watch({"r-00001"});
    EXPECT_EQ(gone.back().page, PageName::kWatch);
    EXPECT_THAT(gone.back().runIds, ElementsAre("r-00001"));
}

TEST_F(RunsPageTest, OffersCommandsForWhatIsSelected) {
    open(5);
    page->view().select({"r-00001"});
    EXPECT_TRUE(hasCommand("Stop the selected run"));
    EXPECT_TRUE(hasCommand("Launch the selected run again"));
    EXPECT_TRUE(hasCommand("Change and launch the selected run"));
    page->view().select({"r-00001", "r-00002"});
    EXPECT_TRUE(hasCommand("Delete 2 selected runs"));
    EXPECT_TRUE(hasCommand("Launch 2 selected runs again"));
    EXPECT_FALSE(hasCommand("Change and launch the selected run"));
}

TEST_F(RunsPageTest, ArrivesAtRunsThatAFilterHides) {
    open(10);
    page->filterBar().setText("wide");
    page->arrive({PageName::kRuns, {"r-00002"}});
    EXPECT_EQ(page->view().currentId(), "r-00002");
    EXPECT_EQ(page->filterBar().text(), "");
}

TEST_F(RunsPageTest, ArrivesAtARunThatComesLater) {
    open(5);
    page->arrive({PageName::kRuns, {"r-late"}});
    values::RunDetail late = stored[0];
    late.summary.id = "r-late";
    daemon.putDetail(late);
    EXPECT_TRUE(until([&] { return page->view().currentId() == "r-late"; }));
}

TEST_F(RunsPageTest, ForgetsTheRunsOfADaemonThatItLeft) {
    compareTwo();
    bridge.connectTo("unix:/other.sock");
    table.clear();
    EXPECT_TRUE(until([&] { return bridge.isSettled(); }));
    EXPECT_TRUE(page->rows().ticked().empty());
    EXPECT_TRUE(page->compare().runs().empty());
    EXPECT_TRUE(until([&] { return page->rows().rowCount() == 5; }));
}

TEST_F(RunsPageTest, GoesBackToTheTableWithEscapeAndToTheFilterWithSlash) {
    open(5);
    page->view().select({"r-00001"});
    press(Qt::Key_Return);
    EXPECT_TRUE(until([&] { return page->details().isVisible(); }));
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    EXPECT_EQ(QApplication::focusWidget(), &page->view().rowsView());
    press(Qt::Key_Slash);
    EXPECT_NE(QApplication::focusWidget(), &page->view().rowsView());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Down);
    EXPECT_EQ(QApplication::focusWidget(), &page->view().rowsView());
}

}  // namespace
}  // namespace millrace::gui
