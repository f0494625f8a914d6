#include "app/gui/widgets/live/lane_list.h"

#include <QSignalSpy>
#include <QTest>

#include <gtest/gtest.h>

#include "tests/support/watch_scene.h"

namespace millrace::gui {
namespace {

using values::RunState;

struct LaneListTest : testing::Test {
    LaneListTest() {
        list.resize(1'100, 400);
        std::vector<values::RunSummary> runs;
        for (int i = 0; i < 4; ++i) {
            values::RunSummary run =
                client::sceneRun("r-" + std::to_string(i), "v" + std::to_string(i),
                                 RunState::kRunning, 1'000'000 + i);
            client::sceneAdvance(run, 10);
            runs.push_back(run);
        }
        model.apply(true, runs, {}, kNow);
        for (values::RunSummary& run : runs) {
            client::sceneAdvance(run, 20);
        }
        model.apply(false, runs, {}, kNow);
        list.setNow(kNow);
        list.show();
    }
    static constexpr std::int64_t kNow = 1'020'500;
    LaneModel model;
    RunColors colors;
    LaneList list{model, colors};
};

TEST_F(LaneListTest, SelectsByKeyboard) {
    QSignalSpy changes(&list, &LaneList::selectionChanged);
    QTest::keyClick(&list, Qt::Key_Down);
    EXPECT_EQ(list.current(), "r-0");
    QTest::keyClick(&list, Qt::Key_Down, Qt::ShiftModifier);
    QTest::keyClick(&list, Qt::Key_Down, Qt::ShiftModifier);
    EXPECT_EQ(list.selected(), (std::vector<std::string>{"r-0", "r-1", "r-2"}));
    QTest::keyClick(&list, Qt::Key_Space);
    EXPECT_EQ(list.selected(), (std::vector<std::string>{"r-0", "r-1"}));
    QTest::keyClick(&list, Qt::Key_A, Qt::ControlModifier);
    EXPECT_EQ(list.selected().size(), 4U);
    QTest::keyClick(&list, Qt::Key_End);
    EXPECT_EQ(list.selected(), std::vector<std::string>{"r-3"});
    EXPECT_GE(changes.size(), 5);
    EXPECT_EQ(list.accessibleDescription(), "selected: movielens-dlrm / v3");
}

TEST_F(LaneListTest, OpensARunWithEnterAndAsksToStopWithItsButton) {
    QSignalSpy opened(&list, &LaneList::runActivated), stops(&list, &LaneList::stopAsked);
    QTest::keyClick(&list, Qt::Key_Down);
    QTest::keyClick(&list, Qt::Key_Return);
    ASSERT_EQ(opened.size(), 1);
    const int y = list.stripRect(2).center().y() + 8;
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, {list.viewport()->width() - 24, y});
    ASSERT_EQ(stops.size(), 1);
    EXPECT_EQ(stops.at(0).at(0).value<std::string>(), "r-2");
}

TEST_F(LaneListTest, SaysWhatARunDidUnderTheCursor) {
    const QRect strip = list.stripRect(1);
    const QString atEnd = list.textAt({strip.right() - 1, strip.center().y()});
    EXPECT_TRUE(atEnd.contains("training for")) << atEnd.toStdString();
    const QString name = list.textAt({20, strip.center().y()});
    EXPECT_TRUE(name.contains("movielens-dlrm / v1"));
}

TEST_F(LaneListTest, ShowsTheTimeOfTheChartsAndTheirCrosshair) {
    ChartLink link;
    link.setXAxis(XAxis::kWallTime);
    list.setLink(&link);
    link.setView({1'010'000, 1'020'000});
    const QRect strip = list.stripRect(0);
    QTest::mouseMove(list.viewport(), {strip.left() + strip.width() / 2, strip.center().y()});
    if (link.crosshair()) {
        EXPECT_NEAR(*link.crosshair(), 1'015'000, 40);
    }
    QSignalSpy crosshairs(&link, &ChartLink::crosshairChanged);
    QTest::mouseMove(list.viewport(), {strip.left() + strip.width() / 4, strip.center().y()});
    ASSERT_TRUE(QTest::qWaitFor([&] { return link.crosshair().has_value(); }, 5'000));
    EXPECT_NEAR(*link.crosshair(), 1'012'500, 40);
}

values::RankNow aRank(int number) {
    values::RankNow rank;
    rank.rank = number;
    rank.state = "running";
    rank.phase = values::Phase::kTraining;
    rank.step = 40;
    rank.timeMs = 1'019'000;
    return rank;
}

TEST_F(LaneListTest, ShowsALaneForEachRankBelowItsJobAndFoldsThem) {
    values::RunSummary run = model.lane(1).run;
    run.ranks = {aRank(0), aRank(1)};
    run.ranks[1].state = "stopped";
    run.ranks[1].standsSinceMs = kNow - 16'000;
    run.ranks[1].trouble = "rank1 stands still after step 40: its process is stopped (SIGSTOP)";
    const LaneLayout& lanes = list.lanes();
    const int before = lanes.height();
    const QRect next = lanes.rowRect(2);
    QSignalSpy heights(&list, &LaneList::heightChanged);
    model.apply(false, {run}, {}, kNow);
    EXPECT_EQ(heights.size(), 1);
    EXPECT_EQ(list.sizeHint().height() > before, true);
    EXPECT_EQ(lanes.rowRect(2).top() - next.top(), lanes.height() - before);
    const QRect second = lanes.rankStripRect(1, 1);
    EXPECT_EQ(second.left(), list.stripRect(1).left());
    EXPECT_EQ(second.width(), list.stripRect(1).width());
    EXPECT_EQ(lanes.rowAt(second.center()), 1);
    EXPECT_EQ(lanes.rankAt(1, second.center()), 1);
    EXPECT_EQ(list.textAt({20, second.center().y()}),
              "rank1 stands still after step 40: its process is stopped (SIGSTOP), for 16.0 s");
    EXPECT_TRUE(list.textAt({20, lanes.rankRect(1, 0).center().y()}).contains("rank 0: training"));
    EXPECT_EQ(list.textAt(lanes.foldRect(1).center()), "2 ranks, rank 1 is stalled");
    EXPECT_FALSE(list.grab().isNull());

    list.select({"r-1"}, "r-1");
    QTest::keyClick(&list, Qt::Key_Left);
    EXPECT_EQ(lanes.height(), before);
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, lanes.foldRect(1).center());
    EXPECT_GT(lanes.height(), before);
    QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, second.center());
    EXPECT_EQ(list.selected(), std::vector<std::string>{"r-1"}) << "a rank is its job's";
    EXPECT_TRUE(lanes.foldRect(0).isEmpty()) << "a job of one rank is its rank's lane";
}

TEST_F(LaneListTest, RanksOfAJobThatEndedAreClosedUntilSomebodyOpensThem) {
    values::RunSummary run = model.lane(0).run;
    run.ranks = {aRank(0), aRank(1)};
    const int before = list.lanes().height();
    model.apply(false, {run}, {}, kNow);
    EXPECT_GT(list.lanes().height(), before);
    run.ranks.clear();
    run.state = RunState::kFinished;
    run.endedMs = kNow;
    model.apply(false, {run}, {}, kNow);
    EXPECT_EQ(list.lanes().height(), before);
    list.select({run.id}, run.id);
    QTest::keyClick(&list, Qt::Key_Right);
    EXPECT_GT(list.lanes().height(), before);
}

TEST_F(LaneListTest, ManyRanksAreClosedUntilSomebodyOpensThem) {
    values::RunSummary run = model.lane(0).run;
    for (int i = 0; i < 64; ++i) {
        run.ranks.push_back(aRank(i));
    }
    const int before = list.lanes().height();
    model.apply(false, {run}, {}, kNow);
    EXPECT_EQ(list.lanes().height(), before);
    list.select({"r-0"}, "r-0");
    QTest::keyClick(&list, Qt::Key_Right);
    EXPECT_GT(list.lanes().height(), before + 64 * 10);
    EXPECT_FALSE(list.grab().isNull());
}

TEST_F(LaneListTest, PaintsAnyNumberOfLanesInAnySize) {
    for (int lanes : {0, 1, 4, 64}) {
        std::vector<values::RunSummary> runs;
        for (int i = 0; i < lanes; ++i) {
            runs.push_back(client::sceneRun("s-" + std::to_string(i), std::string(200, 'x'),
                                            static_cast<RunState>(1 + i % 7), 1'000'000));
        }
        model.clear();
        model.apply(true, runs, {}, kNow);
        for (const QSize& size : {QSize(420, 90), QSize(700, 300), QSize(2'000, 900)}) {
            list.resize(size);
            EXPECT_FALSE(list.grab().isNull());
        }
    }
}

// At 1280 x 720 the lanes have 840 pixels next to the machines.
TEST(LaneColumnsTest, TheTimeLeftAndTheEpochHaveRoomInASmallWindow) {
    const QFontMetrics metrics{QFont()}, small(captionFont(QFont()));
    const int unit = metrics.horizontalAdvance('0');
    const LaneColumns columns = LaneColumns::of(840, unit);
    EXPECT_TRUE(columns.hasLeft);
    EXPECT_GE(columns.button - columns.left, small.horizontalAdvance("1 h 23 m 45 s"));
    EXPECT_GE(columns.strip - columns.state - kLanePad,
              small.horizontalAdvance("running  epoch 13 of 20") + 24);
    EXPECT_GE(columns.rate - columns.strip, 16 * unit);
    EXPECT_FALSE(LaneColumns::of(600, 8).hasLeft);
}

}  // namespace
}  // namespace millrace::gui
