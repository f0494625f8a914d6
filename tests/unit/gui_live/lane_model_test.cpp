#include "app/gui/models/live/lane_model.h"

#include <QAbstractItemModelTester>
#include <QSignalSpy>
#include <random>

#include <gtest/gtest.h>

#include "app/session/live_model.h"

namespace millrace::gui {
namespace {

using values::RunState;

values::RunSummary runOf(const std::string& id, RunState state, std::int64_t createdMs = 1'000) {
    values::RunSummary run;
    run.id = id;
    run.name = "movielens";
    run.state = state;
    run.createdMs = createdMs;
    run.startedMs = state == RunState::kQueued ? 0 : createdMs;
    run.endedMs = values::isEnded(state) ? createdMs + 1'000 : 0;
    run.attempt = 1;
    return run;
}

struct LaneModelTest : testing::Test {
    LaneModel model;
    QAbstractItemModelTester tester{&model, QAbstractItemModelTester::FailureReportingMode::Fatal};

    std::string order() const {
        std::string ids;
        for (int row = 0; row < model.numLanes(); ++row) {
            ids += model.lane(row).run.id + " ";
        }
        return ids;
    }
};

TEST_F(LaneModelTest, StandsGoingThenQueuedThenEndedInTheOrderOfTheirLaunch) {
    model.apply(true,
                {runOf("e", RunState::kFinished, 500), runOf("q", RunState::kQueued, 100),
                 runOf("b", RunState::kRunning, 300), runOf("a", RunState::kStarting, 200)},
                {}, 2'000);
    EXPECT_EQ(order(), "a b q e ");
    model.apply(false, {runOf("q", RunState::kRunning, 100)}, {}, 2'000);
    EXPECT_EQ(order(), "q a b e ");
    model.apply(false, {}, {"a"}, 2'000);
    EXPECT_EQ(order(), "q b e ");
}

TEST_F(LaneModelTest, RunsOfOneSubmitStandInItsOrder) {
    std::vector<values::RunSummary> group;
    for (const char* id : {"z", "x", "y"}) {
        group.push_back(runOf(id, RunState::kQueued));
        group.back().uid = "0190" + std::to_string(group.size());
    }
    model.apply(true, {group[2], group[0], group[1]}, {}, 2'000);
    EXPECT_EQ(order(), "z x y ");
}

TEST_F(LaneModelTest, LetsAnEndedRunGoAfterAWhileUnlessItIsPinned) {
    const values::RunSummary ended = runOf("e", RunState::kFailed, 0);
    const values::RunSummary old = runOf("o", RunState::kFinished, 0);
    model.apply(true, {ended}, {}, 2'000);
    model.pin({old}, 2'000);
    EXPECT_EQ(order(), "e o ");
    model.refresh(1'000 + LaneModel::kRecentMs + 1);
    EXPECT_EQ(order(), "o ");
}

TEST_F(LaneModelTest, KeepsARunInSightThatWasSeenToEnd) {
    values::RunSummary run = runOf("a", RunState::kRunning);
    model.apply(true, {run}, {}, 2'000);
    run.state = RunState::kCancelled;  // the daemon's clock may be far from ours
    model.apply(false, {run}, {}, 90'000'000);
    EXPECT_EQ(order(), "a ");
    model.refresh(90'000'001 + LaneModel::kRecentMs);
    EXPECT_EQ(order(), "a ") << "it does not vanish by itself";
}

TEST_F(LaneModelTest, TheNewestThatWereSeenToEndStayNewestFirst) {
    std::string newest;
    for (int i = 0; i < LaneModel::kNumEndedKept + 3; ++i) {
        const std::string id(1, static_cast<char>('a' + i));
        values::RunSummary run = runOf(id, RunState::kRunning);
        model.apply(false, {run}, {}, 2'000 + i);
        run.state = RunState::kFinished;
        run.endedMs = 3'000 + i;
        model.apply(false, {run}, {}, 3'000 + i);
        newest = id + " " + newest;
    }
    EXPECT_EQ(order(), newest);
    model.refresh(4'000 + LaneModel::kRecentMs);
    EXPECT_EQ(order(), newest.substr(0, 2 * LaneModel::kNumEndedKept));
}

TEST_F(LaneModelTest, LeavesOldEndedRunsOut) {
    model.apply(true, {runOf("e", RunState::kFinished, 0)}, {}, LaneModel::kRecentMs * 3);
    EXPECT_EQ(model.numLanes(), 0);
}

TEST_F(LaneModelTest, KeepsStripsOverAResetUntilTheListIsComplete) {
    values::RunSummary run = runOf("a", RunState::kRunning);
    run.progress.timeMs = 5'000;
    run.progress.phase = values::Phase::kCheckpoint;
    model.apply(true, {run, runOf("gone", RunState::kRunning)}, {}, 5'000);
    run.progress.timeMs = 8'000;
    model.apply(true, {}, {}, 8'000);
    model.apply(false, {run}, {}, 8'000);
    model.listComplete();
    EXPECT_EQ(order(), "a ");
    const auto durations = model.lane(0).tracker.durations();
    EXPECT_DOUBLE_EQ(durations[static_cast<std::size_t>(LanePhase::kCheckpoint)], 3'000);
}

TEST_F(LaneModelTest, TellsTheTimeLeftFromThePace) {
    values::RunSummary run = runOf("a", RunState::kRunning);
    run.progress.stepsTotal = 1'000;
    run.progress.step = 200;
    run.progress.timeMs = 20'000;
    run.progress.stepsPerSecond = 10;
    model.apply(true, {run}, {}, 30'000);
    EXPECT_DOUBLE_EQ(*model.lane(0).secondsLeft(30'000), 80);
    EXPECT_DOUBLE_EQ(*model.lane(0).progressShare(), 0.2);
}

TEST_F(LaneModelTest, SaysWhyARunWaitsOrFailed) {
    values::RunSummary queued = runOf("q", RunState::kQueued);
    queued.queuedReason = "behind 2 runs";
    values::RunSummary failed = runOf("f", RunState::kFailed);
    failed.exitReason = "rank-0 ended with signal 9";
    model.apply(true, {queued, failed}, {}, 2'000);
    EXPECT_EQ(model.lane(0).sentence(2'000), "behind 2 runs");
    queued.state = RunState::kStarting;
    queued.queuedReason = "reads its checkpoints";
    model.apply(false, {queued}, {}, 2'000);
    EXPECT_EQ(model.lane(0).sentence(2'000), "reads its checkpoints");
    EXPECT_EQ(model.lane(1).sentence(2'000), "rank-0 ended with signal 9");
    EXPECT_FALSE(model.lane(0).secondsLeft(2'000));
    EXPECT_EQ(session::stallText(model.lane(0).run), "-");
}

TEST_F(LaneModelTest, ARunThatStandsStillSaysWhyAndForHowLongAndHowOldItsRatesAre) {
    values::RunSummary run = runOf("a", RunState::kRunning);
    run.latestMetrics = {{"samples_per_second", 47'863, 10, 1'000}};
    model.apply(true, {run}, {}, 10'000);
    EXPECT_FALSE(model.lane(0).oldRatesSeconds(11'000));
    run.trouble = "rank0 stands still after step 10: its process is stopped (SIGSTOP)";
    run.standsSinceMs = 10'000;
    model.apply(false, {run}, {}, 20'000);
    EXPECT_EQ(model.lane(0).sentence(133'000),
              "rank0 stands still after step 10: its process is stopped (SIGSTOP), for 2 m 03 s");
    EXPECT_DOUBLE_EQ(*model.lane(0).oldRatesSeconds(133'000), 123);
    EXPECT_FALSE(model.lane(0).secondsLeft(133'000));
}

// The terminal's model and this one get the same events and show the same.
TEST_F(LaneModelTest, ShowsTheProgressThatTheTerminalShows) {
    session::LiveModel terminal;
    values::RunSummary run = runOf("a", RunState::kRunning);
    run.startedMs = 9'000;
    run.progress.stepsTotal = 1'000;
    run.progress.times = values::PhaseTimes{};
    run.dataset = "ratings";
    run.progress.stepsPerSecond = 10;
    run.progress.stallPercentNow = 30;
    for (int i = 0; i <= 12; ++i) {
        run.state = i < 11 ? RunState::kRunning : i < 12 ? RunState::kQueued : RunState::kFinished;
        run.endedMs = i < 12 ? 0 : 23'000;
        run.progress.step = 100 + i * 10;
        run.progress.timeMs = 10'000 + i * 1'000;
        run.progress.times->busyMs += 600;
        run.progress.times->stallMs += 400;
        const std::int64_t nowMs = 30'000 + i * 1'000;
        model.apply(i == 0, {run}, {}, nowMs);
        terminal.apply(session::RunChanged{run}, nowMs);
        const LaneState& lane = model.lane(0);
        const session::LiveRun& live = terminal.runs["a"];
        EXPECT_EQ(lane.secondsLeft(nowMs), live.secondsLeft(nowMs)) << i;
        EXPECT_EQ(lane.oldRatesSeconds(nowMs), live.oldRatesSeconds(nowMs)) << i;
        EXPECT_EQ(lane.elapsedMs(nowMs), 1'000 * live.elapsedSeconds(nowMs)) << i;
        EXPECT_EQ(lane.progressShare(), session::shareDone(live.summary)) << i;
        EXPECT_EQ(session::stallText(lane.run), i <= 10 ? "now 30 %, run 40 %" : "40 %") << i;
    }
}

TEST_F(LaneModelTest, TouchesOnlyTheRowThatChanged) {
    model.apply(true, {runOf("a", RunState::kRunning, 1), runOf("b", RunState::kRunning, 2)}, {},
                2'000);
    QSignalSpy changes(&model, &LaneModel::dataChanged);
    model.apply(false, {runOf("b", RunState::kRunning, 2)}, {}, 2'100);
    ASSERT_EQ(changes.size(), 1);
    EXPECT_EQ(changes.at(0).at(0).toModelIndex().row(), 1);
}

TEST_F(LaneModelTest, SurvivesRandomChanges) {
    std::mt19937 random(11);
    constexpr RunState kStates[] = {RunState::kQueued,   RunState::kStarting, RunState::kRunning,
                                    RunState::kStopping, RunState::kFinished, RunState::kFailed};
    for (int i = 0; i < 3'000; ++i) {
        const std::int64_t now = 1'000 + i * 700;
        std::vector<values::RunSummary> changed;
        for (unsigned k = 0; k < random() % 4; ++k) {
            const auto number = static_cast<std::int64_t>(random() % 12);
            changed.push_back(
                runOf("r" + std::to_string(number), kStates[random() % 6], now - number * 13));
        }
        std::vector<std::string> removed;
        if (random() % 10 == 0) {
            removed.push_back("r" + std::to_string(random() % 12));
        }
        model.apply(random() % 50 == 0, changed, removed, now);
        if (random() % 20 == 0) {
            model.listComplete();
        }
        model.refresh(now);
        for (int row = 1; row < model.numLanes(); ++row) {
            const auto rank = [&](int r) {
                const RunState state = model.lane(r).run.state;
                return values::isEnded(state) ? 2 : state == RunState::kQueued ? 1 : 0;
            };
            ASSERT_LE(rank(row - 1), rank(row));
        }
    }
}

}  // namespace
}  // namespace millrace::gui
