#include <QDateTime>
#include <QListWidget>
#include <QMessageBox>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QToolButton>

#include "app/gui/widgets/live/log_canvas.h"
#include "app/gui/widgets/metric_picker.h"
#include "app/gui/widgets/panels.h"
#include "tests/unit/gui_watch/watch_fixture.h"

namespace millrace::gui {
namespace {

using values::RunState;

TEST_F(WatchTest, SaysHowToStartADaemonWhereNoneAnswers) {
    daemon.goAway();
    page = std::make_unique<WatchPage>(PageContext{bridge, table, colors, spec}, nullptr);
    page->show();
    bridge.connectTo("unix:/fake.sock");
    EXPECT_TRUE(until([this] { return page->emptyState()->title()->text() == "No daemon"; }));
    EXPECT_TRUE(page->isEmptyShown());
}

TEST_F(WatchTest, LeadsToTheLastRunsAndToLaunchWhereNothingRuns) {
    values::RunSummary old = running("r-1", "keep-30");
    old.state = RunState::kFinished;
    old.createdMs = old.startedMs = 1'000;
    old.endedMs = 2'000;
    daemon.putRun(old);
    open();
    ASSERT_TRUE(
        until([this] { return page->emptyState()->title()->text() == "Nothing is running"; }));
    const auto buttons = page->emptyState()->findChildren<QPushButton*>("link");
    ASSERT_EQ(buttons.size(), 2);
    buttons[0]->click();
    buttons[1]->click();
    ASSERT_EQ(gone.size(), 2U);
    EXPECT_EQ(gone[0].page, PageName::kLaunch);
    EXPECT_EQ(gone[1].page, PageName::kRuns);
    EXPECT_EQ(gone[1].runIds, std::vector<std::string>{"r-1"});
}

TEST_F(WatchTest, ShowsHistoryAndFollowsFromThereWithoutHoleOrDouble) {
    const values::RunSummary run = running("r-1", "keep-30");
    history["r-1"] = client::sceneHistory(run, 1, 100);
    std::int64_t told = 0;  // lines, those of the history's steps
    for (std::int64_t step = 1; step <= 120; ++step) {
        const std::vector<values::RunFigure> points = client::scenePoints(run, step);
        daemon.addPoints("r-1", points);
        told += step <= 100 ? std::ssize(points) : 0;
    }
    history["r-1"].cursor = {1, told};
    daemon.putRun(run);
    open();
    ASSERT_TRUE(until([&] { return numPoints("r-1", "loss") == 120; }));
    for (std::int64_t step = 121; step <= 150; ++step) {
        daemon.addPoints("r-1", client::scenePoints(run, step));
    }
    ASSERT_TRUE(until([&] { return numPoints("r-1", "loss") == 150; }));
    const auto curve = page->feed().series("r-1")->curve("loss");
    for (std::size_t i = 0; i < curve->size(); ++i) {
        ASSERT_EQ(curve->at(i).x, static_cast<double>(i + 1));
    }
    ASSERT_FALSE(daemon.metricStarts().empty());
    EXPECT_EQ(daemon.metricStarts().front(), told) << "history is not sent again";
    EXPECT_FALSE(chart("loss")->isEmpty());
    EXPECT_FALSE(chart("rows")->isEmpty());
}

TEST_F(WatchTest, GoesOnWithoutAGapWhenTheDaemonComesBack) {
    const values::RunSummary run = running("r-1");
    history["r-1"] = client::sceneHistory(run, 1, 10);
    for (std::int64_t step = 1; step <= 10; ++step) {
        daemon.addPoints("r-1", client::scenePoints(run, step));
    }
    daemon.putRun(run);
    open();
    ASSERT_TRUE(until([&] { return numPoints("r-1", "loss") == 10; }));
    daemon.goAway();
    ASSERT_TRUE(until([&] { return bridge.link().state == session::LinkState::kReconnecting; }));
    for (std::int64_t step = 11; step <= 40; ++step) {
        daemon.addPoints("r-1", client::scenePoints(run, step));
    }
    daemon.comeBack();
    ASSERT_TRUE(until([&] { return numPoints("r-1", "loss") == 40; }));
    const auto curve = page->feed().series("r-1")->curve("loss");
    for (std::size_t i = 0; i < curve->size(); ++i) {
        ASSERT_EQ(curve->at(i).x, static_cast<double>(i + 1));
    }
}

double meanSaturation(QWidget& widget) {
    const QImage image = widget.grab().toImage();
    double sum = 0;
    for (int y = 0; y < image.height(); ++y) {
        for (int x = 0; x < image.width(); ++x) {
            sum += image.pixelColor(x, y).hsvSaturationF();
        }
    }
    return sum / (image.width() * image.height());
}

TEST_F(WatchTest, NothingIsOfNowWhileTheDaemonIsAway) {
    values::RunSummary run = running("r-1");
    client::sceneAdvance(run, 30);
    history["r-1"] = client::sceneHistory(run, 1, 150);
    daemon.putRun(run);
    open();
    ASSERT_TRUE(until([this] { return page->laneList()->isVisible() && page->isSettled(); }));
    EXPECT_EQ(page->charts()->badgeText(), "LIVE");
    const double before = meanSaturation(*page->laneList());
    daemon.goAway();
    ASSERT_TRUE(until([&] { return bridge.link().state == session::LinkState::kReconnecting; }));
    EXPECT_EQ(page->charts()->badgeText(), "OFFLINE");
    EXPECT_LT(meanSaturation(*page->laneList()), 0.7 * before);
    daemon.comeBack();
    ASSERT_TRUE(until([&] { return bridge.link().state == session::LinkState::kConnected; }));
    EXPECT_EQ(page->charts()->badgeText(), "LIVE");
}

TEST_F(WatchTest, VoidsPointsOfAnOlderAttempt) {
    const values::RunSummary run = running("r-1");
    history["r-1"] = client::sceneHistory(run, 1, 20);
    for (std::int64_t step = 1; step <= 20; ++step) {
        daemon.addPoints("r-1", client::scenePoints(run, step));
    }
    daemon.putRun(run);
    open();
    ASSERT_TRUE(until([&] { return numPoints("r-1", "loss") == 20; }));
    history["r-1"] = client::sceneHistory(run, 1, 5);
    values::RunSummary again = run;
    again.attempt = 2;
    daemon.beginAttempt("r-1", 5);
    daemon.putRun(again);
    ASSERT_TRUE(until([&] { return numPoints("r-1", "loss") == 5; }));
}

TEST_F(WatchTest, SelectsWhatGoesAndKeepsAChoiceOfTheUser) {
    daemon.putRun(running("r-1", "a"));
    daemon.putRun(running("r-2", "b"));
    open();
    LaneList* list = page->laneList();
    ASSERT_TRUE(until([&] { return list->selected().size() == 2; }));
    QTest::keyClick(list, Qt::Key_Down);
    ASSERT_EQ(list->selected().size(), 1U);
    const std::string chosen = list->selected().front();
    daemon.putRun(running("r-3", "c"));
    ASSERT_TRUE(until([&] { return page->lanes().numLanes() == 3; }));
    EXPECT_EQ(list->selected(), std::vector<std::string>{chosen});
    EXPECT_EQ(page->feed().logRun(), chosen);
}

TEST_F(WatchTest, ArrivesWithRunsSelectedEvenThoseThatEnded) {
    values::RunSummary ended = running("r-9", "old");
    ended.state = RunState::kFinished;
    ended.createdMs = 1'000;
    ended.endedMs = 5'000;
    daemon.putRun(ended);
    daemon.putRun(running("r-1", "a"));
    open();
    ASSERT_TRUE(until([&] { return table.find("r-9") != nullptr; }));
    page->arrive({PageName::kWatch, {"r-9"}});
    EXPECT_EQ(page->laneList()->selected(), std::vector<std::string>{"r-9"});
    EXPECT_EQ(page->lanes().numLanes(), 2);
}

TEST_F(WatchTest, StopsARunOnlyAfterItsNameWasConfirmed) {
    daemon.putRun(running("r-1", "keep-30"));
    open();
    ASSERT_TRUE(until([&] { return page->lanes().numLanes() == 1; }));
    const auto question = [&]() -> QMessageBox* { return page->findChild<QMessageBox*>(); };
    QTest::keyClick(page->laneList(), Qt::Key_S);
    ASSERT_NE(question(), nullptr);
    EXPECT_TRUE(
        (question()->text() + question()->informativeText()).contains("movielens-dlrm / keep-30"));
    EXPECT_TRUE((question()->text() + question()->informativeText()).contains("checkpoint"));
    question()->reject();
    EXPECT_EQ(daemon.numCalls("stop"), 0);
    ASSERT_TRUE(until([&] { return question() == nullptr; }));
    QTest::keyClick(page->laneList(), Qt::Key_S);
    for (QAbstractButton* button : question()->buttons()) {
        if (button->text().contains("Stop")) {
            button->click();
        }
    }
    ASSERT_TRUE(until([&] { return daemon.numCalls("stop") == 1; }));
    EXPECT_TRUE(until([&] {
        const LaneState* lane = page->lanes().find("r-1");
        return lane != nullptr && lane->run.state == RunState::kCancelled;
    })) << "what was stopped stays in sight";
    EXPECT_TRUE(until([&] { return !notices.empty(); }));
}

TEST_F(WatchTest, SaysWhyAStopFailed) {
    daemon.putRun(running("r-1", "keep-30"));
    open();
    ASSERT_TRUE(until([&] { return page->lanes().numLanes() == 1; }));
    daemon.fail("stop", failedPrecondition("the run has just ended"));
    QTest::keyClick(page->laneList(), Qt::Key_S);
    for (QAbstractButton* button : page->findChild<QMessageBox*>()->buttons()) {
        if (button->text().contains("Stop")) {
            button->click();
        }
    }
    ASSERT_TRUE(until([&] { return !notices.empty(); }));
    EXPECT_EQ(notices[0].kind, Notice::Kind::kError);
    EXPECT_TRUE(notices[0].text.contains("the run has just ended"));
}

TEST_F(WatchTest, ShowsMachinesWithTheirSamples) {
    const values::NodeInfo node = client::sceneNode("h100-01", 8, 2);
    daemon.setNodes({node});
    open();
    ASSERT_TRUE(until([&] { return page->nodes().numNodes() == 1; }));
    daemon.sample(client::sceneSample(node, nowMs()));
    ASSERT_TRUE(until([&] { return page->nodes().node(0).sample.has_value(); }));
    EXPECT_EQ(page->nodes().node(0).gpus.size(), 2U);
    EXPECT_TRUE(until([&] { return !chart("gpu")->isEmpty(); }));
    page->tick(nowMs() + 12'500);
    EXPECT_TRUE(page->nodes().node(0).staleSeconds(page->nodes().nowMs()).has_value());
}

TEST_F(WatchTest, FillsTheStripsOfLanesThatAreNotSelected) {
    const values::RunSummary going = running("r-1", "keep-30");
    values::RunSummary ended = running("r-2", "keep-10");
    ended.state = RunState::kFinished;
    ended.endedMs = ended.startedMs + 30'000;
    history["r-1"] = client::sceneHistory(going, 1, 100);
    history["r-2"] = client::sceneHistory(ended, 1, 100);
    daemon.putRun(going);
    daemon.putRun(ended);
    open();
    ASSERT_TRUE(until([this] {
        const LaneState* lane = page->lanes().find("r-2");
        return lane != nullptr && !lane->tracker.spans().empty();
    }));
    EXPECT_EQ(page->laneList()->selected(), std::vector<std::string>{"r-1"});
    daemon.putRun(going);
    page->tick(nowMs());
    ASSERT_TRUE(until([this] { return page->isSettled(); }));
    const auto asked = daemon.rangesSoFar();
    const auto numAsked = std::count_if(asked.begin(), asked.end(),
                                        [](const auto& request) { return request.run == "r-2"; });
    EXPECT_EQ(numAsked, 1) << "once is enough";
}

TEST_F(WatchTest, ReadsTheStoredStripsOfEachRank) {
    values::RunSummary ended = running("r-1");
    ended.state = RunState::kFinished;
    ended.endedMs = ended.startedMs + 30'000;
    history["r-1"] = client::sceneHistory(ended, 1, 100);
    for (values::MetricSeries& series : history["r-1"].series) {
        for (values::MetricPoint& point : series.points) {
            point.ranks = values::RankSpread{1, 2, 0, 1, 2};
        }
    }
    daemon.putRun(ended);
    open();
    ASSERT_TRUE(until([this] {
        const LaneState* lane = page->lanes().find("r-1");
        return lane != nullptr && lane->ranks.size() == 2 &&
               !lane->ranks[1].tracker.spans().empty();
    }));
    std::vector<int> ranks;
    for (const values::MetricRangeRequest& request : daemon.rangesSoFar()) {
        if (request.rank != values::kNoRank) {
            ranks.push_back(request.rank);
            EXPECT_THAT(request.names, ::testing::Contains("system.time.stall_ms"));
        }
    }
    std::sort(ranks.begin(), ranks.end());
    EXPECT_EQ(ranks, (std::vector<int>{0, 1}));
}

TEST_F(WatchTest, EndsTheAxisWithTheLastPointWhereEveryRunHasEnded) {
    values::RunSummary ended = running("r-1");
    ended.state = RunState::kFinished;
    ended.endedMs = ended.startedMs + 30'000;
    history["r-1"] = client::sceneHistory(ended, 1, 100);
    daemon.putRun(ended);
    const values::NodeInfo node = client::sceneNode("node-1", 8, 0);
    daemon.setNodes({node});
    open();
    ASSERT_TRUE(until([this] { return !chart("loss")->isEmpty(); }));
    daemon.sample(client::sceneSample(node, nowMs()));
    ASSERT_TRUE(until([this] { return !chart("cpu")->isEmpty(); }));
    page->tick(nowMs());
    ASSERT_TRUE(until([&] {
        return page->charts()->link()->view().high <= static_cast<double>(ended.endedMs);
    })) << "the machine's newest sample must not stretch it";
    EXPECT_FALSE(page->charts()->isBadgeShown());
    page->charts()->link()->setView(
        {static_cast<double>(ended.startedMs), static_cast<double>(ended.startedMs) + 5'000});
    EXPECT_TRUE(page->charts()->isBadgeShown()) << "it leads back";
}

TEST_F(WatchTest, TheAxisIsTheJobsHoweverLongTheConsoleHasWatchedTheMachines) {
    const values::NodeInfo node = client::sceneNode("h100-01", 8, 0);
    daemon.setNodes({node});
    open();
    page->resize(700, 420);  // the machines' charts are below what is in sight
    ASSERT_TRUE(until([this] { return page->nodes().numNodes() == 1; }));
    std::size_t numSamples = 0;
    const auto sample = [&](std::int64_t timeMs) {
        daemon.sample(client::sceneSample(node, timeMs));
        ++numSamples;
        return until([&] {
            const auto& curve = page->nodes().node(0).cpuCurve;
            return curve != nullptr && curve->size() >= numSamples;
        });
    };
    ASSERT_TRUE(sample(nowMs() - 20 * 60'000));
    ASSERT_TRUE(sample(nowMs() - 10 * 60'000));
    values::RunSummary run = running("r-1");
    run.startedMs = nowMs() - 30'000;
    history["r-1"] = client::sceneHistory(run, 1, 50);
    daemon.putRun(run);
    ASSERT_TRUE(until([this] { return !chart("loss")->isEmpty(); }));
    ASSERT_TRUE(sample(nowMs()));
    page->tick(nowMs());
    QCoreApplication::sendPostedEvents();
    const CurveRange view = page->charts()->link()->view();
    EXPECT_GE(view.low, static_cast<double>(run.startedMs) - 1);
    EXPECT_LE(view.high, static_cast<double>(nowMs()) + 10'000);
}

TEST_F(WatchTest, TheAxisFollowsTheSelectionAtOnce) {
    values::RunSummary old = running("r-1", "a"), fresh = running("r-2", "b");
    old.startedMs = nowMs() - 240'000;
    old.endedMs = nowMs() - 200'000;
    old.state = RunState::kFinished;
    fresh.startedMs = nowMs() - 5'000;
    daemon.putRun(old);
    daemon.putRun(fresh);
    open();
    ASSERT_TRUE(until([&] { return page->lanes().numLanes() == 2; }));
    page->laneList()->select({"r-1"}, "r-1");
    EXPECT_EQ(page->charts()->link()->extent(),
              (CurveRange{static_cast<double>(old.startedMs), static_cast<double>(old.endedMs)}));
    page->laneList()->select({"r-2"}, "r-2");
    EXPECT_EQ(page->charts()->link()->extent().low, static_cast<double>(fresh.startedMs));
}

TEST_F(WatchTest, AllCurvesOfAChartDifferAndARunLooksTheSameInEach) {
    for (int i = 0; i < 8; ++i) {
        values::RunSummary run =
            running("r-" + std::to_string(i), i == 0 ? "" : "v" + std::to_string(i));
        run.variationOf = i == 0 ? "" : "r-0";
        history[run.id] = client::sceneHistory(run, 1, 20);
        daemon.putRun(run);
    }
    open();
    const auto curvesOf = [this](const QString& key) {
        return std::get<Curves>(chart(key)->content()).curves;
    };
    ASSERT_TRUE(
        until([&] { return curvesOf("loss").size() == 8 && curvesOf("rows").size() == 16; }));
    std::map<QString, std::pair<QRgb, int>> lossOf;
    std::set<std::pair<QRgb, int>> looks;
    for (const Curve& curve : curvesOf("loss")) {
        lossOf[curve.id.section('/', 0, 0)] = {curve.color.rgb(), curve.dash};
        looks.emplace(curve.color.rgb(), curve.dash);
    }
    EXPECT_EQ(looks.size(), 8U);
    looks.clear();
    for (const Curve& curve : curvesOf("rows")) {
        looks.emplace(curve.color.rgb(), curve.dash);
        const auto [color, dash] = lossOf[curve.id.section('/', 0, 0)];
        EXPECT_EQ(curve.color.rgb(), color) << curve.id.toStdString();
        EXPECT_TRUE(curve.dash == dash || curve.dash == dash + 1) << curve.id.toStdString();
    }
    EXPECT_EQ(looks.size(), 16U);
    const RunColors::Look base = colors.of("r-0");
    EXPECT_EQ(lossOf["r-0"], std::pair(base.color.rgb(), base.dash)) << "as its lane";
}

TEST_F(WatchTest, ARunThatIsAloneInItsChartHasAFullLine) {
    for (int i = 0; i < 12; ++i) {
        const values::RunSummary run = running("r-" + std::to_string(i));
        history[run.id] = client::sceneHistory(run, 1, 20);
        daemon.putRun(run);
    }
    open();
    ASSERT_TRUE(until([&] { return page->lanes().numLanes() == 12; }));
    std::vector<std::string> dashed, full;
    for (int i = 0; i < 12; ++i) {
        const std::string id = "r-" + std::to_string(i);
        (colors.of(id).dash > 0 ? dashed : full).push_back(id);
    }
    ASSERT_FALSE(dashed.empty());
    const auto curvesOf = [this](const QString& key) {
        return std::get<Curves>(chart(key)->content()).curves;
    };
    page->laneList()->select({dashed[0]}, dashed[0]);
    ASSERT_TRUE(
        until([&] { return curvesOf("loss").size() == 1 && curvesOf("rows").size() == 2; }));
    EXPECT_EQ(curvesOf("loss")[0].dash, 0);
    EXPECT_EQ(curvesOf("rows")[0].dash, 0);
    EXPECT_EQ(curvesOf("rows")[1].dash, 1) << "rows kept";
    page->laneList()->select({dashed[0], full[0]}, dashed[0]);
    ASSERT_TRUE(until([&] { return curvesOf("loss").size() == 2; }));
    for (const Curve& curve : curvesOf("loss")) {
        const RunColors::Look look = colors.of(curve.id.section('/', 0, 0).toStdString());
        EXPECT_EQ(std::pair(curve.color.rgb(), curve.dash), std::pair(look.color.rgb(), look.dash));
    }
}

TEST_F(WatchTest, SaysPlainlyThatThereIsNoGpu) {
    daemon.setNodes({client::sceneNode("cpu-01", 8, 0)});
    open();
    ASSERT_TRUE(until([&] { return page->nodes().numNodes() == 1; }));
    EXPECT_TRUE(chart("gpu")->isEmpty());
    EXPECT_EQ(chart("gpu")->emptyText(), "cpu-01: no GPU: libnvidia-ml.so.1 is not installed");
}

TEST_F(WatchTest, ChartsWithoutDataTakeNoRoomAndAreNamedInALine) {
    daemon.setNodes({client::sceneNode("cpu-01", 8, 0)});
    values::RunSummary run = running("r-1");
    run.progress.step = 0;
    daemon.putRun(run);
    open();
    ASSERT_TRUE(until([&] { return page->nodes().numNodes() == 1; }));
    EXPECT_TRUE(chart("loss")->isVisibleTo(page.get())) << "its first step is on its way";
    run.progress.step = 5;
    daemon.putRun(run);
    daemon.addPoints("r-1", client::scenePoints(run, 5));
    ASSERT_TRUE(until([&] { return !chart("loss")->isEmpty(); }));
    ASSERT_TRUE(until([&] { return !chart("gpu")->isVisibleTo(page.get()); }));
    EXPECT_TRUE(chart("loss")->isVisibleTo(page.get()));
    EXPECT_TRUE(page->charts()->foldedText().contains("GPU (cpu-01: no GPU"))
        << page->charts()->foldedText().toStdString();
}

// The page of a window of 1280 x 720.
TEST_F(WatchTest, ASmallWindowHasEightLinesOfTheLogAndAWholeRowOfThreeCharts) {
    for (const char* id : {"r-1", "r-2", "r-3", "r-4"}) {
        daemon.putRun(running(id));
    }
    open();
    page->resize(1'207, 644);
    ASSERT_TRUE(until([&] { return page->lanes().numLanes() == 4; }));
    auto* canvas = page->findChild<LogCanvas*>();
    ASSERT_NE(canvas, nullptr);
    EXPECT_TRUE(until([&] { return canvas->viewport()->height() >= 8 * canvas->lineHeight(); }))
        << canvas->viewport()->height() << " of " << canvas->height() << " of "
        << canvas->parentWidget()->parentWidget()->height() << ", " << canvas->lineHeight();
    for (int place : {0, 1, 2}) {
        const PlotWidget* chart = page->charts()->chart(place);
        EXPECT_EQ(chart->y(), page->charts()->chart(0)->y());
        EXPECT_EQ(chart->visibleRegion().boundingRect().height(), chart->height()) << place;
    }
}

TEST_F(WatchTest, FreezesOnAZoomAndFollowsAgainWithF) {
    const values::RunSummary run = running("r-1");
    history["r-1"] = client::sceneHistory(run, 1, 200);
    daemon.putRun(run);
    open();
    ASSERT_TRUE(until([&] { return numPoints("r-1", "loss") == 200; }));
    ChartLink* link = page->charts()->link();
    link->setView(
        {static_cast<double>(run.startedMs) + 4'000, static_cast<double>(run.startedMs) + 8'000});
    EXPECT_FALSE(link->isLive());
    QTest::keyClick(page->laneList(), Qt::Key_F);
    EXPECT_TRUE(link->isLive());
}

TEST_F(WatchTest, AsksForExactPointsWhenSomebodyZoomsIntoAThinnedHistory) {
    const values::RunSummary run = running("r-1");
    history["r-1"] = client::sceneHistory(run, 1, 200);
    for (values::MetricSeries& series : history["r-1"].series) {
        series.isDecimated = true;
    }
    daemon.putRun(run);
    open();
    ASSERT_TRUE(until([&] { return numPoints("r-1", "loss") == 200; }));
    const std::size_t before = daemon.rangesSoFar().size();
    page->charts()->link()->setView(
        {static_cast<double>(run.startedMs) + 4'000, static_cast<double>(run.startedMs) + 8'000});
    ASSERT_TRUE(until([&] { return daemon.rangesSoFar().size() > before; }));
    const values::MetricRangeRequest asked = daemon.rangesSoFar().back();
    EXPECT_LE(asked.fromStep, 20);
    EXPECT_GE(asked.fromStep, 15);
    EXPECT_GE(asked.toStep, 40);
    EXPECT_LE(asked.toStep, 45);
    EXPECT_THAT(asked.names, testing::Contains("loss"));
}

TEST_F(WatchTest, ShowsAChartOfAnyMetricAndRemembersIt) {
    const values::RunSummary run = running("r-1");
    history["r-1"] = client::sceneHistory(run, 1, 20);
    daemon.putRun(run);
    open();
    ASSERT_TRUE(until([&] { return numPoints("r-1", "learning_rate") == 20; }));
    const int before = page->charts()->numCharts();
    page->charts()->setMetricShown("learning_rate", true);
    EXPECT_EQ(page->charts()->numCharts(), before + 1);
    EXPECT_FALSE(chart("learning_rate")->isEmpty());
    QTemporaryDir folder;
    QSettings settings(folder.filePath("console.ini"), QSettings::IniFormat);
    page->saveState(settings);
    page->charts()->setMetricShown("learning_rate", false);
    EXPECT_EQ(page->charts()->numCharts(), before);
    page->restoreState(settings);
    EXPECT_TRUE(page->charts()->isMetricShown("learning_rate"));
}

TEST_F(WatchTest, FindsMetricsInASearchedList) {
    const values::RunSummary run = running("r-1");
    history["r-1"] = client::sceneHistory(run, 1, 20);
    daemon.putRun(run);
    open();
    ASSERT_TRUE(until([&] { return numPoints("r-1", "learning_rate") == 20; }));
    const int before = page->charts()->numCharts();
    QTest::mouseClick(page->findChild<QToolButton*>("metrics"), Qt::LeftButton);
    auto* picker = page->findChild<MetricPicker*>();
    ASSERT_NE(picker, nullptr);
    picker->setSearch("learn rate");
    auto* list = picker->findChild<QListWidget*>();
    ASSERT_NE(list->currentItem(), nullptr);
    EXPECT_EQ(list->currentItem()->data(Qt::UserRole).toString(), "learning_rate");
    list->currentItem()->setCheckState(Qt::Checked);
    EXPECT_EQ(page->charts()->numCharts(), before + 1);
    list->currentItem()->setCheckState(Qt::Unchecked);
    EXPECT_EQ(page->charts()->numCharts(), before);
}

TEST_F(WatchTest, ReadsTheLogOfTheCurrentRun) {
    const values::RunSummary a = running("r-1", "a"), b = running("r-2", "b");
    daemon.addLines("r-1", client::sceneLog(a, 0, 10));
    daemon.addLines("r-2", client::sceneLog(b, 0, 30));
    daemon.putRun(a);
    daemon.putRun(b);
    open();
    ASSERT_TRUE(until([&] { return page->feed().log().rowCount() > 0; }));
    page->laneList()->select({"r-2"}, "r-2");
    ASSERT_TRUE(until([&] { return page->feed().log().rowCount() == 30; }));
    page->laneList()->select({"r-1"}, "r-1");
    ASSERT_TRUE(until([&] { return page->feed().log().rowCount() == 10; }));
}

TEST_F(WatchTest, HasACommandForEverythingThatAKeyDoes) {
    daemon.putRun(running("r-1"));
    open();
    ASSERT_TRUE(until([&] { return page->lanes().numLanes() == 1; }));
    const std::vector<Command> commands = page->commands();
    ASSERT_GE(commands.size(), 8U);
    for (const Command& command : commands) {
        EXPECT_FALSE(command.title.isEmpty());
        EXPECT_TRUE(command.run);
    }
    EXPECT_TRUE(commands.front().isEnabled);
    QTest::keyClick(page->laneList(), Qt::Key_2);
    EXPECT_TRUE(page->charts()->chart(1)->hasFocus() || !page->isActiveWindow());
}

}  // namespace
}  // namespace millrace::gui
