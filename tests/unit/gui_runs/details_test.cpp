#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QToolButton>
#include <cmath>
#include <map>

#include "app/gui/charts/chart.h"
#include "app/gui/charts/plot_widget.h"
#include "app/gui/models/details/checkpoint_table.h"
#include "app/gui/models/details/run_metrics.h"
#include "app/gui/models/live/log_model.h"
#include "app/gui/pages/runs/details/checkpoint_section.h"
#include "app/gui/pages/runs/details/log_section.h"
#include "app/gui/pages/runs/details/metrics_section.h"
#include "app/gui/pages/runs/details/note_section.h"
#include "app/gui/pages/runs/details/overview_section.h"
#include "app/gui/pages/runs/details/receipt_section.h"
#include "app/gui/pages/runs/details/run_head.h"
#include "app/gui/pages/runs/details/spec_section.h"
#include "app/gui/pages/runs/parts/chart_board.h"
#include "app/gui/pages/runs/parts/fact_view.h"
#include "app/gui/widgets/badge.h"
#include "app/gui/widgets/panels.h"
#include "tests/unit/gui_runs/runs_fixture.h"

namespace millrace::gui {
namespace {

using Tab = DetailsPanel::Tab;

class DetailsTest : public RunsTest {
 protected:
    DetailsPanel& details() { return page->details(); }
    RunTabs& tabs() { return page->details().tabs(); }
    std::string storedNote(const std::string& id) {
        for (const values::RunSummary& run : daemon.runs()) {
            if (run.id == id) {
                return run.note;
            }
        }
        return {};
    }
};

TEST_F(DetailsTest, ShowsStateReasonAndKeyFigures) {
    open(5);
    ASSERT_TRUE(choose("r-00003"));
    EXPECT_EQ(tabs().overview().reason(),
              "rank0 ended by SIGKILL: the machine ran out of memory (limit 1024 MB)");
    EXPECT_EQ(tabs().overview().figure("rows trained"), "242 k");
    EXPECT_EQ(tabs().overview().figure("loss"), "0.5098");
    ASSERT_TRUE(settle());
    EXPECT_FALSE(tabs().overview().board().plots().empty());
    EXPECT_FALSE(tabs().overview().board().plots()[0]->isEmpty());
    ASSERT_TRUE(choose("r-00000"));
    EXPECT_EQ(tabs().overview().reason(), "");
}

TEST_F(DetailsTest, APurgedRunSaysSoAndOffersNoWayBack) {
    open(5);
    stored[1].summary.deletedMs = stored[2].summary.deletedMs = 1'700'000'000'000;
    stored[2].summary.purgedMs = 1'700'000'060'000;
    daemon.putDetail(stored[1]);
    daemon.putDetail(stored[2]);
    page->filterBar().setDeletedShown(true);
    ASSERT_TRUE(until([&] { return page->rows().rowCount() == 2; }));
    const auto hasRestore = [this] {
        for (const QToolButton* button : details().findChildren<QToolButton*>()) {
            if (button->text() == "Restore") {
                return button->isVisibleTo(&details());
            }
        }
        return false;
    };
    ASSERT_TRUE(choose("r-00001"));
    EXPECT_TRUE(hasRestore());
    ASSERT_TRUE(choose("r-00002"));
    EXPECT_FALSE(hasRestore());
    EXPECT_TRUE(tabs().overview().reason().startsWith("Purged "));
    EXPECT_EQ(badgeOf(stored[2].summary).text, "purged");
}

TEST_F(DetailsTest, TheRateIsTheMeanOfARunThatHasEndedAndElseSaysHowOldItIs) {
    open(5);
    ASSERT_TRUE(choose("r-00000"));
    OverviewSection& overview = tabs().overview();
    values::RunSummary run = stored[0].summary;
    run.meanRate = 229'088;
    run.latestMetrics = {{"samples_per_second", 14'258, 630, 1'000, 2}};
    overview.showRun(run, nullptr, 50'000);
    EXPECT_EQ(overview.figure("samples/s"), "229,088") << "not that of its last window";
    EXPECT_EQ(overview.caption("samples/s"), "samples/s");
    run.state = values::RunState::kRunning;
    run.id = "r-live";
    overview.showRun(run, nullptr, 50'000);
    EXPECT_EQ(overview.figure("samples/s"), "14,258");
    EXPECT_EQ(overview.caption("samples/s"), "samples/s") << "it has just come";
    overview.showRun(run, nullptr, 70'000);
    EXPECT_EQ(overview.caption("samples/s"), "samples/s  20.0 s old");
    run.latestMetrics[0].timeMs = 2'000;
    overview.showRun(run, nullptr, 71'000);
    EXPECT_EQ(overview.caption("samples/s"), "samples/s");
}

TEST_F(DetailsTest, WhatIsOnItsWayToTheHeadIsShownUntilItIsThere) {
    open(5);
    ASSERT_TRUE(choose("r-00000"));
    OverviewSection& overview = tabs().overview();
    EXPECT_EQ(overview.handOver(), "");
    values::RunSummary run = stored[0].summary;
    run.state = values::RunState::kStopping;
    run.handOver = values::HandOver{400, 3'100'000'000, 1'200'000'000, 2};
    overview.showRun(run, nullptr, 50'000);
    EXPECT_EQ(overview.handOver(),
              "Checkpoint of step 400 is on its way to the head: 1.2 GB of 3.1 GB; 2 more wait");
    run.handOver.reset();
    overview.showRun(run, nullptr, 51'000);
    EXPECT_EQ(overview.handOver(), "");
}

// The daemon sends a run's last counters after its end, without a new revision.
TEST_F(DetailsTest, ARunThatHasEndedShowsTheStallOfTheWholeRun) {
    open(5);
    ASSERT_TRUE(choose("r-00000"));
    values::RunSummary run = *table.find("r-00000");
    ASSERT_TRUE(values::isEnded(run.state));
    run.progress.times = values::PhaseTimes{5'000, 5'000};
    table.apply(false, {run}, {});
    details().refresh();
    EXPECT_EQ(tabs().overview().figure("input stall"), "50 %");
    run.dataset.clear();
    table.apply(false, {run}, {});
    details().refresh();
    EXPECT_EQ(tabs().overview().figure("input stall"), "") << "nothing was read";
}

// How clearly a widget's picture on its page differs from its most frequent colour.
double ink(QWidget& page, const QWidget& widget) {
    const QImage image = page.grab({widget.mapTo(&page, QPoint()), widget.size()}).toImage();
    std::map<int, int> levels;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            ++levels[qGray(image.pixel(x, y))];
        }
    }
    const int back =
        std::ranges::max_element(levels, {}, [](const auto& level) { return level.second; })->first;
    double sum = 0;
    for (const auto& [level, count] : levels) {
        sum += std::abs(level - back) * static_cast<double>(count);
    }
    return sum / (image.width() * image.height());
}

TEST_F(DetailsTest, TheRunsAreDimWhileTheDaemonIsAway) {
    open(5);
    ASSERT_TRUE(choose("r-00003"));
    QWidget& rows = *page->view().rowsView().viewport();
    QWidget& head = *details().findChild<RunHead*>();
    QWidget& figure = *tabs().overview().findChild<Figure*>();
    const std::vector<QWidget*> shown{&rows, &head, &figure};
    std::vector<double> before;
    for (QWidget* widget : shown) {
        before.push_back(ink(*page, *widget));
    }
    daemon.goAway();
    ASSERT_TRUE(until([&] { return bridge.link().state == session::LinkState::kReconnecting; }));
    for (std::size_t i = 0; i < shown.size(); ++i) {
        EXPECT_LT(ink(*page, *shown[i]), 0.7 * before[i]) << i;
    }
    daemon.comeBack();
    ASSERT_TRUE(until([&] { return bridge.link().state == session::LinkState::kConnected; }));
    for (std::size_t i = 0; i < shown.size(); ++i) {
        EXPECT_NEAR(ink(*page, *shown[i]), before[i], 0.1 * before[i]) << i;
    }
}

TEST_F(DetailsTest, AChartThatCannotBeReadSaysSoUntilTheDaemonIsBack) {
    open(5);
    ASSERT_TRUE(choose("r-00000"));
    ASSERT_TRUE(settle());
    daemon.goAway();
    ASSERT_TRUE(until([&] { return bridge.link().state != session::LinkState::kConnected; }));
    page->view().select({"r-00003"});
    ASSERT_TRUE(until([&] { return details().runId() == "r-00003" && details().isSettled(); }));
    const PlotWidget& plot = *tabs().overview().board().plots()[0];
    EXPECT_TRUE(plot.isEmpty());
    EXPECT_EQ(plot.emptyText(), "No connection: values of loss are not known here");
    daemon.comeBack();
    bridge.retryNow();
    EXPECT_TRUE(until([&] { return !plot.isEmpty(); })) << plot.emptyText().toStdString();
}

TEST_F(DetailsTest, TheLossOfOtherTrainingRowsIsNotMeasuredAgainstTheBase) {
    open(5);
    ASSERT_TRUE(choose("r-00000"));
    OverviewSection& overview = tabs().overview();
    values::RunSummary base = stored[0].summary, run = stored[1].summary;
    base.streamHash = run.streamHash = "aa";
    overview.showRun(run, &base, 50'000);
    EXPECT_TRUE(overview.caption("loss").startsWith("loss  +")) << "one stream: losses compare";
    run.streamHash = "bb";
    overview.showRun(run, &base, 50'000);
    EXPECT_EQ(overview.caption("loss"), QString("loss  ") + QChar(0x2260) + " rows");
    EXPECT_FALSE(overview.caption("test AUC").contains(QChar(0x2260)))
        << "evaluated on the same rows";
}

TEST_F(DetailsTest, AFigureOfARunWithOneHeadStandsOnce) {
    open(5);
    ASSERT_TRUE(choose("r-00000"));
    OverviewSection& overview = tabs().overview();
    values::RunSummary run = stored[0].summary;
    run.latestMetrics = {
        {"eval.auc", 0.8, 630, 1, 2}, {"eval.liked.auc", 0.8, 630, 1, 2}, {"loss", 0.5, 630, 1, 2}};
    overview.showRun(run, nullptr, 50'000);
    EXPECT_EQ(overview.figure("test AUC"), "0.8000");
    EXPECT_EQ(overview.figure("test liked AUC"), "");
    run.latestMetrics.push_back({"eval.bought.auc", 0.7, 630, 1, 2});
    overview.showRun(run, nullptr, 50'000);
    EXPECT_EQ(overview.figure("test AUC"), "") << "of several heads each under its own name";
    EXPECT_EQ(overview.figure("test liked AUC"), "0.8000");
    EXPECT_EQ(overview.figure("test bought AUC"), "0.7000");
}

TEST_F(DetailsTest, MarksWhatTheVariationChangedInTheSpec) {
    open(5);
    ASSERT_TRUE(choose("r-00004"));
    details().showTab(Tab::kSpec);
    EXPECT_EQ(tabs().spec().changes().size(), 2U);
    QStringList marked;
    for (const QTextEdit::ExtraSelection& mark : tabs().spec().text().extraSelections()) {
        marked.append(mark.cursor.selectedText());
    }
    EXPECT_TRUE(marked.contains("16"));
    EXPECT_TRUE(marked.contains("model.embedding_dim: 32"));
    EXPECT_FALSE(marked.contains("recipe.negatives.keep: 0.3"));
    tabs().spec().showResolved(true);
    const FactTable& resolved = tabs().spec().resolved().facts();
    bool isMarked = false;
    for (int row = 0; row < resolved.rowCount(); ++row) {
        isMarked = isMarked || (resolved.index(row, 0).data() == "model.embedding_dim" &&
                                resolved.index(row, 0).data(FactTable::kIsMarkedRole).toBool());
    }
    EXPECT_TRUE(isMarked);
}

TEST_F(DetailsTest, ShowsTheRecipeAsAFunnel) {
    open(5);
    ASSERT_TRUE(choose("r-00001"));
    ASSERT_TRUE(tabs().receipt().hasReceipt());
    const auto& funnel = std::get<Funnel>(tabs().receipt().funnel().content());
    ASSERT_EQ(funnel.steps.size(), 4U);
    EXPECT_EQ(funnel.steps[1].name, "filter");
    EXPECT_EQ(funnel.steps[1].rowsIn, 80'600);
    EXPECT_EQ(funnel.steps[1].rowsOut, 80'561);
}

TEST_F(DetailsTest, SaysThatThereIsNoReceiptYet) {
    open(5);
    stored[0].receipt.reset();
    stored[0].checkpoints.clear();
    stored[0].summary.rowsRead = 0;
    daemon.putDetail(stored[0]);
    ASSERT_TRUE(choose("r-00000"));
    EXPECT_TRUE(until([&] { return !tabs().receipt().hasReceipt(); }));
    EXPECT_EQ(tabs().checkpoints().model().rowCount(), 0);
}

TEST_F(DetailsTest, ShowsMetricsWithExtremesAndChartsOfTheChosenOnes) {
    open(5);
    details().showTab(Tab::kMetrics);
    ASSERT_TRUE(choose("r-00000"));
    RunMetrics& metrics = tabs().metrics().model();
    ASSERT_TRUE(until(
        [&] { return metrics.rowCount() > 0 && !metrics.trendAt(metrics.rowOf("loss")).empty(); }));
    EXPECT_NE(metrics.index(metrics.rowOf("loss"), RunMetrics::kHighest).data(),
              metrics.index(metrics.rowOf("loss"), RunMetrics::kLowest).data());
    tabs().metrics().table().selectRow(metrics.rowOf("input_stall_percent"));
    EXPECT_THAT(tabs().metrics().board().chosen(), testing::ElementsAre("input_stall_percent"));
    tabs().metrics().table().clearSelection();
    EXPECT_GT(tabs().metrics().board().chosen().size(), 1U) << "the usual ones again";
}

TEST_F(DetailsTest, FollowsTheLogWhileItIsSeen) {
    open(5);
    daemon.addLines("r-00001", {{1, "rank0", "first", false, 1, values::LogLevel::kInfo}});
    ASSERT_TRUE(choose("r-00001"));
    EXPECT_EQ(daemon.numStreams("logs"), 0);
    details().showTab(Tab::kLog);
    ASSERT_TRUE(until([&] { return tabs().log().model().numLines() == 1; }));
    daemon.addLines("r-00001", {{2, "rank0", "second", false, 1, values::LogLevel::kInfo}});
    ASSERT_TRUE(until([&] { return tabs().log().model().numLines() == 2; }));
    details().showTab(Tab::kOverview);
    EXPECT_FALSE(tabs().log().isFollowing());
    EXPECT_TRUE(until([&] { return daemon.numStreams("logs") == 0; }));
}

TEST_F(DetailsTest, ResumesFromAChosenCheckpoint) {
    open(5);
    details().showTab(Tab::kCheckpoints);
    ASSERT_TRUE(choose("r-00003"));
    CheckpointSection& section = tabs().checkpoints();
    section.table().selectRow(1);
    ASSERT_TRUE(section.resumeButton().isEnabled());
    section.resumeButton().click();
    ASSERT_TRUE(until([&] { return daemon.numCalls("resume") == 1 && !notices.empty(); }));
    EXPECT_EQ(notices.back().text, "Resumed movielens-dlrm no-power-users from step 600.");
    ASSERT_TRUE(choose("r-00000"));
    EXPECT_FALSE(section.resumeButton().isEnabled()) << "it has finished";
}

TEST_F(DetailsTest, SavesANoteAndShowsItAtOnce) {
    open(5);
    ASSERT_TRUE(choose("r-00000"));
    QTest::keyClick(&page->view().rowsView(), Qt::Key_F2);
    NoteSection& note = tabs().note();
    ASSERT_TRUE(note.isEditing());
    note.editor().setPlainText("**works**");
    daemon.hang("setNote");
    QTest::keyClick(&note.editor(), Qt::Key_Return, Qt::ControlModifier);
    EXPECT_FALSE(note.isEditing());
    EXPECT_EQ(note.note(), "**works**") << "before the daemon has answered";
    daemon.release("setNote");
    EXPECT_TRUE(until([&] { return storedNote("r-00000") == "**works**" && !note.isSaving(); }));
}

TEST_F(DetailsTest, BringsTheOldNoteBackWhenTheDaemonRefuses) {
    open(5);
    ASSERT_TRUE(choose("r-00002"));
    NoteSection& note = tabs().note();
    const QString before = note.note();
    ASSERT_FALSE(before.isEmpty());
    daemon.fail("setNote", unavailable("the disk is full"));
    details().editNote();
    note.editor().setPlainText("something else");
    note.save();
    ASSERT_TRUE(until([&] { return !note.error().isEmpty(); }));
    EXPECT_TRUE(note.error().contains("the disk is full"));
    EXPECT_EQ(note.note(), before);
    EXPECT_TRUE(note.isEditing());
    EXPECT_EQ(note.editor().toPlainText(), "something else") << "nothing written is lost";
    note.cancel();
    EXPECT_FALSE(note.isEditing());
}

TEST_F(DetailsTest, KeepsATextThatIsBeingEditedWhenTheNoteChanges) {
    open(5);
    ASSERT_TRUE(choose("r-00000"));
    details().editNote();
    tabs().note().editor().setPlainText("mine");
    values::RunSummary run = stored[0].summary;
    run.note = "theirs";
    daemon.putRun(run);
    ASSERT_TRUE(until([&] { return tabs().note().note() == "theirs"; }));
    EXPECT_EQ(tabs().note().editor().toPlainText(), "mine");
    EXPECT_TRUE(tabs().note().isEditing());
}

TEST_F(DetailsTest, KeepsWhatTheListKnowsWhenARunCannotBeRead) {
    open(5);
    daemon.fail("get", unavailable("connection lost"));
    page->view().select({"r-00004"});
    ASSERT_TRUE(until([&] { return details().runId() == "r-00004" && details().isSettled(); }));
    EXPECT_EQ(details().detail(), nullptr);
    EXPECT_EQ(tabs().overview().figure("rows trained"), "242 k");
    daemon.fail("get", okStatus());
    values::RunSummary run = stored[4].summary;
    run.note = "again";
    daemon.putRun(run);
    EXPECT_TRUE(until([&] { return details().detail() != nullptr; }));
}

}  // namespace
}  // namespace millrace::gui
