#include "app/gui/models/live/lane_tracker.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

namespace millrace::gui {
namespace {

using values::Phase;
using values::RunState;

constexpr std::int64_t kStart = 1'000'000;

values::RunSummary runAt(std::int64_t timeMs, Phase phase, double busyMs, double stallMs,
                         RunState state = RunState::kRunning) {
    values::RunSummary run;
    run.id = "r-1";
    run.state = state;
    run.attempt = 1;
    run.startedMs = kStart;
    run.progress.timeMs = timeMs;
    run.progress.phase = phase;
    run.progress.busyMs = busyMs;
    run.progress.stallMs = stallMs;
    return run;
}

values::RunSummary starting() {
    values::RunSummary run = runAt(0, Phase::kUnknown, 0, 0, RunState::kStarting);
    return run;
}

double timeIn(const LaneTracker& tracker, LanePhase phase) {
    return tracker.durations()[static_cast<std::size_t>(phase)];
}

void expectOrdered(const LaneTracker& tracker) {
    double last = 0;
    for (const PhaseSpan& span : tracker.spans()) {
        EXPECT_LT(span.fromMs, span.toMs);
        EXPECT_GE(span.fromMs, last - 1e-6);
        last = span.toMs;
    }
}

TEST(LaneTrackerTest, SplitsAnIntervalByWhatWasCountedInIt) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 10'000, Phase::kTraining, 0, 0), 0);
    tracker.update(runAt(kStart + 12'000, Phase::kTraining, 1'500, 500), 0);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kWaiting), 500);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 1'500);
}

TEST(LaneTrackerTest, ARunThatDoesNotGetOnStandsWhateverItSaysAndAStarvedOneWaits) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 10'000, Phase::kTraining, 0, 0), 0);
    values::RunSummary still = runAt(kStart + 11'000, Phase::kTraining, 1'000, 0);
    still.standsSinceMs = kStart + 11'000;
    tracker.update(still, kStart + 23'000);
    still.progress.timeMs = kStart + 24'000;
    still.progress.busyMs = 14'000;
    tracker.update(still, kStart + 24'000);
    EXPECT_EQ(tracker.open()->phase, LanePhase::kStanding);
    tracker.update(runAt(kStart + 25'000, Phase::kTraining, 15'000, 0), kStart + 25'000);
    tracker.update(runAt(kStart + 26'000, Phase::kTraining, 16'000, 0), kStart + 26'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kStanding), 14'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 2'000);
    expectOrdered(tracker);
    values::RunSummary starved = runAt(kStart + 27'000, Phase::kWaiting, 16'000, 1'000);
    starved.standsSinceMs = kStart + 26'000;
    tracker.update(starved, kStart + 40'000);
    EXPECT_EQ(tracker.open()->phase, LanePhase::kWaiting);
}

TEST(LaneTrackerTest, ReadsTotalsAndIntervalsAlike) {
    LaneTracker totals, intervals;
    double busy = 30'000, stall = 10'000;
    totals.update(runAt(kStart + 40'000, Phase::kTraining, busy, stall), 0);
    intervals.update(runAt(kStart + 40'000, Phase::kTraining, 700, 300), 0);
    for (int i = 1; i <= 30; ++i) {
        busy += 800;
        stall += 200;
        const std::int64_t time = kStart + 40'000 + i * 1'000;
        totals.update(runAt(time, Phase::kTraining, busy, stall), 0);
        intervals.update(runAt(time, Phase::kTraining, 800, 200), 0);
    }
    for (const LaneTracker* tracker : {&totals, &intervals}) {
        EXPECT_NEAR(timeIn(*tracker, LanePhase::kTraining), 24'000, 1e-6);
        EXPECT_NEAR(timeIn(*tracker, LanePhase::kWaiting), 6'000, 1e-6);
        expectOrdered(*tracker);
    }
}

TEST(LaneTrackerTest, GivesAPauseItsWholeTimeAndTheWaitAtItsEnd) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 1'000, Phase::kCheckpoint, 1'000, 0), 0);
    tracker.update(runAt(kStart + 4'000, Phase::kEvaluating, 4'000, 0), 0);
    tracker.update(runAt(kStart + 9'000, Phase::kTraining, 8'400, 600), 0);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kCheckpoint), 3'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kEvaluating), 4'400);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kWaiting), 600);
    ASSERT_TRUE(tracker.open());
    EXPECT_EQ(tracker.open()->phase, LanePhase::kTraining);
    EXPECT_DOUBLE_EQ(tracker.open()->fromMs, kStart + 9'000);
}

TEST(LaneTrackerTest, LeavesTimeOpenThatNoReportCovers) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 1'000, Phase::kTraining, 900, 100), 0);
    // A minute later, and the report counts its own last second only.
    tracker.update(runAt(kStart + 61'000, Phase::kTraining, 950, 50), 0);
    double covered = 0;
    for (double part : tracker.durations()) {
        covered += part;
    }
    EXPECT_DOUBLE_EQ(covered, 1'000);
    EXPECT_DOUBLE_EQ(tracker.spans().front().fromMs, kStart + 60'000);
}

TEST(LaneTrackerTest, ShowsTheStartAsIdle) {
    LaneTracker tracker;
    tracker.update(starting(), kStart);
    tracker.update(runAt(kStart + 3'000, Phase::kTraining, 800, 200), kStart + 3'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kIdle), 2'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kWaiting), 200);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 800);
}

TEST(LaneTrackerTest, ClosesWithTheRunAndKeepsNothingOpen) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 1'000, Phase::kTraining, 0, 0), 0);
    values::RunSummary ended = runAt(kStart + 1'000, Phase::kTraining, 0, 0, RunState::kFinished);
    ended.endedMs = kStart + 1'700;
    EXPECT_TRUE(tracker.update(ended, kStart + 9'000));
    EXPECT_FALSE(tracker.open());
    EXPECT_DOUBLE_EQ(tracker.spans().back().toMs, kStart + 1'700);
    EXPECT_FALSE(tracker.update(ended, kStart + 20'000)) << "nothing changes any more";
}

TEST(LaneTrackerTest, CountsFromZeroInANewAttempt) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 1'000, Phase::kTraining, 1'000, 0), kStart + 1'000);
    values::RunSummary again = runAt(kStart + 1'000, Phase::kTraining, 1'000, 0);
    again.attempt = 2;
    tracker.update(again, kStart + 2'000);
    again.progress.timeMs = kStart + 6'000;
    again.progress.busyMs = 500;
    tracker.update(again, kStart + 6'000);
    expectOrdered(tracker);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kIdle), 3'500) << "starting again";
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 1'500);
}

TEST(LaneTrackerTest, StaysBoundedAndExactOverADay) {
    LaneTracker tracker({.numSpansMax = 1'000});
    std::mt19937 random(7);
    std::array<double, kNumLanePhases> expected{};
    std::int64_t time = kStart;
    double busy = 0, stall = 0;
    Phase phase = Phase::kTraining;
    tracker.update(runAt(time, phase, busy, stall), time);
    for (int i = 0; i < 50'000; ++i) {
        const auto step = static_cast<std::int64_t>(200 + random() % 2'000);
        const bool isPause = phase == Phase::kCheckpoint || phase == Phase::kEvaluating;
        const double waited =
            isPause ? 0 : static_cast<double>(random() % 100) / 100 * static_cast<double>(step);
        time += step;
        stall += waited;
        busy += static_cast<double>(step) - waited;
        expected[1] += waited;
        expected[isPause ? (phase == Phase::kCheckpoint ? 2 : 3) : 0] +=
            static_cast<double>(step) - waited;
        phase = random() % 20 == 0 ? (random() % 2 == 0 ? Phase::kCheckpoint : Phase::kEvaluating)
                                   : Phase::kTraining;
        tracker.update(runAt(time, phase, busy, stall), time);
    }
    EXPECT_LE(tracker.spans().size(), 1'001U);
    expectOrdered(tracker);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(tracker.durations()[i], expected[i], 1) << i;
    }
}

TEST(LaneTrackerTest, DrawsTheStoredTimeBeforeTheFirstReport) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 10'000, Phase::kTraining, 9'000, 1'000), 0);
    tracker.update(runAt(kStart + 11'000, Phase::kTraining, 10'000, 1'000), 0);
    const std::vector<LaneTracker::StallPoint> stalls{{kStart + 1'000.0, 0},
                                                      {kStart + 2'000.0, 50},
                                                      {kStart + 6'000.0, 0},
                                                      {kStart + 7'000.0, 100},
                                                      {kStart + 10'500.0, 0}};
    const std::vector<double> evaluations{kStart + 5'500.0};
    tracker.setHistory(stalls, evaluations);
    expectOrdered(tracker);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kWaiting), 500 + 1'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 500 + 1'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kEvaluating), 3'500);
}

TEST(LaneTrackerTest, DrawsALongRunOfWhichOnlyThinnedPointsAreKnown) {
    std::vector<LaneTracker::StallPoint> stalls;
    for (int minute = 0; minute < 20; ++minute) {
        stalls.push_back({kStart + minute * 60'000.0, 25});
    }
    for (int minute = 40; minute < 60; ++minute) {
        stalls.push_back({kStart + minute * 60'000.0, 25});
    }
    LaneTracker exact, thinned;
    exact.setHistory(stalls, {});
    EXPECT_TRUE(exact.spans().empty()) << "exact points a minute apart are pauses";
    thinned.setHistory(stalls, {}, true);
    expectOrdered(thinned);
    EXPECT_DOUBLE_EQ(timeIn(thinned, LanePhase::kTraining), 38 * 45'000);
    EXPECT_DOUBLE_EQ(timeIn(thinned, LanePhase::kWaiting), 38 * 15'000);
}

}  // namespace
}  // namespace millrace::gui
