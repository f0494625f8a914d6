#include "app/gui/models/live/lane_tracker.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>

#include <gtest/gtest.h>

#include "backend/values/metric_names.h"
#include "backend/values/phase_edges.h"

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
    run.progress.times = values::PhaseTimes{busyMs, stallMs};
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
    still.progress.times->busyMs = 14'000;
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

TEST(LaneTrackerTest, GivesAPauseItsTimeBeforeTheWaitThatFollowsIt) {
    LaneTracker tracker;
    values::RunSummary run = runAt(kStart + 1'000, Phase::kCheckpoint, 1'000, 0);
    tracker.update(run, 0);
    run.progress.timeMs = kStart + 4'000;
    run.progress.phase = Phase::kEvaluating;
    run.progress.times->checkpointMs = 3'000;
    tracker.update(run, 0);
    run.progress.timeMs = kStart + 9'000;
    run.progress.phase = Phase::kTraining;
    run.progress.times->evaluateMs = 4'400;
    run.progress.times->stallMs = 600;
    tracker.update(run, 0);
    EXPECT_EQ(tracker.spans(),
              (std::vector<PhaseSpan>{{kStart + 1'000, kStart + 4'000, LanePhase::kCheckpoint},
                                      {kStart + 4'000, kStart + 8'400, LanePhase::kEvaluating},
                                      {kStart + 8'400, kStart + 9'000, LanePhase::kWaiting}}));
    ASSERT_TRUE(tracker.open());
    EXPECT_EQ(tracker.open()->phase, LanePhase::kTraining);
    EXPECT_DOUBLE_EQ(tracker.open()->fromMs, kStart + 9'000);
}

TEST(LaneTrackerTest, AReportThatComesLateDistortsNothing) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 1'000, Phase::kTraining, 1'000, 0), 0);
    // The run waited all the time; the first of the two reports arrived 900 ms late.
    tracker.update(runAt(kStart + 2'900, Phase::kWaiting, 1'000, 1'000), 0);
    tracker.update(runAt(kStart + 3'000, Phase::kWaiting, 1'000, 2'000), 0);
    tracker.update(runAt(kStart + 4'000, Phase::kTraining, 2'000, 2'000), 0);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kWaiting), 2'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 1'000);
    EXPECT_DOUBLE_EQ(tracker.spans().back().toMs, kStart + 4'000);
    expectOrdered(tracker);
}

TEST(LaneTrackerTest, LeavesTimeOpenInWhichARunWasStopped) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 1'000, Phase::kTraining, 900, 100), 0);
    values::RunSummary stopped = runAt(0, Phase::kTraining, 1'000, 100, RunState::kCancelled);
    stopped.endedMs = kStart + 1'100;
    tracker.update(stopped, kStart + 1'100);
    values::RunSummary again = runAt(kStart + 61'000, Phase::kTraining, 1'500, 100);
    again.attempt = 2;
    again.progress.times->startMs = 400;
    tracker.update(again, kStart + 61'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 600);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kIdle), 400);
    EXPECT_DOUBLE_EQ(tracker.spans().front().toMs, kStart + 1'100);
    EXPECT_DOUBLE_EQ(tracker.spans()[1].fromMs, kStart + 60'100);
    expectOrdered(tracker);
}

TEST(LaneTrackerTest, ShowsTheStartAsIdle) {
    LaneTracker tracker;
    tracker.update(starting(), kStart);
    tracker.update(runAt(kStart + 3'000, Phase::kTraining, 800, 200), kStart + 3'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kIdle), 2'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kWaiting), 200);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 800);
}

TEST(LaneTrackerTest, ShowsWhatFollowsTheLastStepAsEnding) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 1'000, Phase::kTraining, 1'000, 0), kStart + 1'000);
    tracker.update(runAt(kStart + 1'500, Phase::kEnding, 1'500, 0), kStart + 1'500);
    EXPECT_EQ(tracker.open()->phase, LanePhase::kEnding);
    values::RunSummary ended = runAt(kStart + 1'500, Phase::kEnding, 1'500, 0, RunState::kFinished);
    ended.progress.times->endingMs = 25'000;
    ended.endedMs = kStart + 26'500;
    tracker.update(ended, kStart + 30'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kEnding), 25'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kIdle), 0);
    EXPECT_DOUBLE_EQ(tracker.spans().back().toMs, kStart + 26'500);
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

TEST(LaneTrackerTest, WhatALostAttemptDidNotReportIsTheStartOfTheNext) {
    LaneTracker tracker;
    tracker.update(runAt(kStart + 1'000, Phase::kTraining, 1'000, 0), kStart + 1'000);
    values::RunSummary again = runAt(kStart + 1'000, Phase::kUnknown, 1'000, 0);
    again.attempt = 2;
    tracker.update(again, kStart + 2'000);
    EXPECT_EQ(tracker.open()->phase, LanePhase::kIdle);
    again.progress.timeMs = kStart + 6'000;
    again.progress.times->startMs = 4'500;
    again.progress.times->busyMs = 1'500;
    again.progress.phase = Phase::kTraining;
    tracker.update(again, kStart + 6'000);
    expectOrdered(tracker);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kIdle), 4'500) << "starting again";
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 500);
}

/// A run that trains, waits, evaluates and restarts at random: its reports, some of them late, and
/// the points that are stored every two seconds.
class RandomRun {
 public:
    explicit RandomRun(std::uint64_t seed) : random_(seed) {
        run_ = runAt(kStart, Phase::kUnknown, 0, 0, RunState::kStarting);
    }
    /// Lets the run go on until its next report.
    const values::RunSummary& next() {
        values::Progress& progress = run_.progress;
        const std::int64_t ms = 20 + static_cast<std::int64_t>(random_() % 1'200);
        const bool isRestart = random_() % 60 == 0;
        if (run_.state == RunState::kStarting || isRestart) {
            run_.attempt += isRestart ? 1 : 0;
            run_.state = RunState::kRunning;
            progress.times->startMs += static_cast<double>(ms);
            progress.phase = Phase::kTraining;
        } else {
            spend(static_cast<double>(ms));
        }
        nowMs_ += ms;
        // A report takes up to 150 ms, but never overtakes another.
        progress.timeMs =
            std::max(progress.timeMs + 1, nowMs_ + static_cast<std::int64_t>(random_() % 150));
        if (nowMs_ - storedMs_ >= 2'000) {
            storedMs_ = nowMs_;
            for (std::size_t i = 0; i < values::metric::kSystemTimes.size(); ++i) {
                values::MetricPoint point;
                point.timeMs = progress.timeMs;
                point.attempt = run_.attempt;
                point.value = *progress.times.*values::PhaseTimes::parts()[i];
                stored_[i].push_back(point);
            }
        }
        return run_;
    }
    /// Ends the run; the end reports what it counted since the last report.
    const values::RunSummary& end() {
        spend(130);
        nowMs_ += 130;
        run_.state = RunState::kFinished;
        run_.endedMs = nowMs_;
        run_.progress.timeMs = 0;
        return run_;
    }
    /// Every `nth` stored point of each part; the parts have different points.
    values::MetricHistory history(std::size_t nth) const {
        values::MetricHistory history;
        for (std::size_t i = 0; i < stored_.size(); ++i) {
            values::MetricSeries series;
            series.key = values::metric::kSystemTimes[i];
            for (std::size_t p = i % nth; p < stored_[i].size(); p += nth) {
                series.points.push_back(stored_[i][p]);
            }
            history.series.push_back(std::move(series));
        }
        return history;
    }
    const values::RunSummary& run() const { return run_; }

 private:
    void spend(double ms) {
        values::PhaseTimes& times = *run_.progress.times;
        const auto share = static_cast<double>(random_() % 101) / 100;
        const bool isPause = random_() % 8 == 0;
        const auto pause = random_() % 2 == 0 ? &values::PhaseTimes::evaluateMs
                                              : &values::PhaseTimes::checkpointMs;
        times.*(isPause ? pause : &values::PhaseTimes::stallMs) += share * ms;
        times.busyMs += (1 - share) * ms;
        constexpr Phase kPhases[] = {Phase::kTraining, Phase::kWaiting, Phase::kCheckpoint,
                                     Phase::kEvaluating};
        run_.progress.phase = kPhases[random_() % 4];
    }

    std::mt19937_64 random_;
    values::RunSummary run_;
    std::int64_t nowMs_ = kStart, storedMs_ = 0;
    std::array<std::vector<values::MetricPoint>, values::metric::kSystemTimes.size()> stored_;
};

// The law of the strip: each phase has its counted time, within 2 % of the whole.
void expectCounted(const LaneTracker& tracker, const values::PhaseTimes& times) {
    const std::array<double, 5> expected{times.busyMs, times.stallMs, times.checkpointMs,
                                         times.evaluateMs, times.startMs};
    constexpr LanePhase kPhases[] = {LanePhase::kTraining, LanePhase::kWaiting,
                                     LanePhase::kCheckpoint, LanePhase::kEvaluating,
                                     LanePhase::kIdle};
    for (std::size_t i = 0; i < expected.size(); ++i) {
        EXPECT_NEAR(timeIn(tracker, kPhases[i]), expected[i], 0.02 * times.sum()) << i;
    }
    expectOrdered(tracker);
}

TEST(LaneTrackerTest, AgreesWithTheCountersLiveAndFromWhatIsStored) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
        SCOPED_TRACE(seed);
        RandomRun scene(seed);
        LaneTracker live, late;
        live.update(scene.run(), kStart);
        const std::size_t opened = 20 + seed * 7;  // reports before another console looks
        for (std::size_t i = 0; i < 400; ++i) {
            const values::RunSummary& run = scene.next();
            live.update(run, run.progress.timeMs);
            if (i >= opened) {
                late.update(run, run.progress.timeMs);
            }
            if (i == opened) {
                late.setHistory(timePointsOf(scene.history(1)));
            }
            if (i % 50 == 49) {
                expectCounted(live, *run.progress.times);
            }
        }
        const values::RunSummary& ended = scene.end();
        for (LaneTracker* tracker : {&live, &late}) {
            tracker->update(ended, ended.endedMs);
            EXPECT_FALSE(tracker->open());
        }
        LaneTracker again, thinned;
        again.update(ended, ended.endedMs);
        again.setHistory(timePointsOf(scene.history(1)));
        thinned.update(ended, ended.endedMs);
        thinned.setHistory(timePointsOf(scene.history(13)));
        for (const LaneTracker* tracker : {&live, &late, &again, &thinned}) {
            expectCounted(*tracker, *ended.progress.times);
        }
        EXPECT_NEAR(again.spans().front().fromMs, kStart, 200);
        EXPECT_NEAR(again.spans().back().toMs, static_cast<double>(ended.endedMs), 200);
    }
}

/// A run with phases of random length: its reports, five a second, and the history that the daemon
/// stores.
class PhasedRun {
 public:
    explicit PhasedRun(std::uint64_t seed) : random_(seed) {
        run_ = runAt(kStart, Phase::kUnknown, 0, 0, RunState::kStarting);
    }
    /// Lets the run go on until its next report.
    const values::RunSummary& next() {
        const std::int64_t ms = isStopped_ ? 5'000 : 200;
        run_.state = RunState::kRunning;
        for (std::int64_t i = 0; i < ms; ++i) {
            count();
        }
        nowMs_ += ms;
        standingMs_ += isStopped_ ? static_cast<double>(ms) : 0;
        run_.standsSinceMs = 0;
        run_.progress.timeMs = nowMs_;
        run_.progress.phase = phase_;
        report();
        isStopped_ = phase_ == Phase::kTraining && random_() % 100 == 0;
        return run_;
    }
    /// The run as it is shown while it is stopped; empty if it makes progress.
    std::optional<values::RunSummary> stopped() const {
        if (!isStopped_) {
            return std::nullopt;
        }
        values::RunSummary run = run_;
        run.standsSinceMs = nowMs_;
        return run;
    }
    const values::RunSummary& end() {
        phase_ = Phase::kEnding;
        untilMs_ = INT64_MAX;
        isStopped_ = false;
        next();
        run_.state = RunState::kFinished;
        run_.endedMs = nowMs_ + 700;
        run_.progress.times->endingMs += 700;
        run_.progress.timeMs = 0;
        return run_;
    }
    const values::MetricHistory& history() const { return history_; }

 private:
    void count() {
        values::PhaseTimes& times = *run_.progress.times;
        if (atMs_++ >= untilMs_) {
            constexpr Phase kPhases[] = {Phase::kTraining, Phase::kEvaluating, Phase::kTraining,
                                         Phase::kCheckpoint};
            phase_ = kPhases[++numPhases_ % 4];
            const bool isPause = phase_ != Phase::kTraining;
            untilMs_ = atMs_ + static_cast<std::int64_t>(isPause ? 30 + random_() % 2'500
                                                                 : 300 + random_() % 6'000);
            waitShare_ = random_() % 100;
        }
        double& part = phase_ == Phase::kUnknown      ? times.startMs
                       : phase_ == Phase::kEvaluating ? times.evaluateMs
                       : phase_ == Phase::kCheckpoint ? times.checkpointMs
                       : phase_ == Phase::kEnding     ? times.endingMs
                       : random_() % 100 < waitShare_ ? times.stallMs
                                                      : times.busyMs;
        part += 1;
    }
    void report() {
        const auto edge = edges_.note({*run_.progress.times, standingMs_, nowMs_});
        if (!edge) {
            return;
        }
        constexpr std::size_t kNumTimes = values::metric::kSystemTimes.size();
        history_.series.resize(kNumTimes + 1);
        for (std::size_t i = 0; i <= kNumTimes; ++i) {
            const bool isTime = i < kNumTimes;
            history_.series[i].key =
                isTime ? values::metric::kSystemTimes[i] : values::metric::kSystemStandingMs;
            values::MetricPoint& point = history_.series[i].points.emplace_back();
            point.timeMs = edge->timeMs;
            point.attempt = 1;
            point.value = isTime ? edge->times.*values::PhaseTimes::parts()[i] : edge->standingMs;
        }
    }

    std::mt19937_64 random_;
    values::RunSummary run_;
    Phase phase_ = Phase::kUnknown;
    std::int64_t nowMs_ = kStart, atMs_ = 0, untilMs_ = 900;
    std::uint64_t waitShare_ = 0;
    int numPhases_ = -1;
    bool isStopped_ = false;
    double standingMs_ = 0;
    values::PhaseEdges edges_;
    values::MetricHistory history_;
};

// The share of [from, to) that each phase has.
std::array<double, kNumLanePhases> sharesIn(const LaneTracker& tracker, double from, double to) {
    std::array<double, kNumLanePhases> shares{};
    for (const PhaseSpan& span : tracker.spans()) {
        const double ms = std::min(to, span.toMs) - std::max(from, span.fromMs);
        shares[static_cast<std::size_t>(span.phase)] += std::max(0.0, ms) / (to - from);
    }
    return shares;
}

// A strip that was watched and a strip from the store show the same, up to the distance of two
// reports (200 ms): cells of waiting and training together, everything else at its place.
TEST(LaneTrackerTest, IsTheSameWhetherItWasWatchedOrIsReadFromTheStore) {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        PhasedRun scene(seed);
        LaneTracker live, late;
        for (int i = 0; i < 1'500; ++i) {
            const values::RunSummary& run = scene.next();
            live.update(run, run.progress.timeMs);
            if (const auto stopped = scene.stopped()) {
                live.update(*stopped, stopped->progress.timeMs + 4'000);
            }
        }
        const values::RunSummary& ended = scene.end();
        for (LaneTracker* tracker : {&live, &late}) {
            tracker->update(ended, ended.endedMs);
        }
        late.setHistory(timePointsOf(scene.history()));
        expectOrdered(late);
        for (std::size_t i = 0; i < kNumLanePhases; ++i) {
            EXPECT_NEAR(live.durations()[i], late.durations()[i], 250) << i;
        }
        double differMs = 0;
        for (double at = kStart; at < static_cast<double>(ended.endedMs); at += 2'000) {
            const auto watched = sharesIn(live, at, at + 2'000);
            const auto stored = sharesIn(late, at, at + 2'000);
            for (std::size_t i = 0; i < watched.size(); ++i) {
                EXPECT_NEAR(watched[i], stored[i], 0.2) << "phase " << i << " at " << at - kStart;
                differMs += 1'000 * std::abs(watched[i] - stored[i]);
            }
        }
        EXPECT_LT(differMs, 0.01 * static_cast<double>(ended.endedMs - kStart));
        EXPECT_GT(timeIn(late, LanePhase::kStanding), 0);
        EXPECT_GT(timeIn(late, LanePhase::kEvaluating), 0);
    }
}

// As the daemon stores it: the stall is a part of the ending.
TEST(LaneTrackerTest, AStallThatOnlyTheEndOfTheRunEndedIsDrawnAsOne) {
    values::RunSummary ended = runAt(0, Phase::kUnknown, 10'000, 0, RunState::kCancelled);
    ended.endedMs = kStart + 30'000;
    ended.progress.times->endingMs = 20'000;
    LaneTracker late;
    late.update(ended, ended.endedMs);
    values::PhaseTimes worked, stalled;
    worked.busyMs = stalled.busyMs = 10'000;
    stalled.endingMs = 18'000;
    const std::vector<LaneTracker::Point> stored = {
        {kStart, {}, 1}, {kStart + 10'000, worked, 1}, {kStart + 28'000, stalled, 1, 17'000}};
    late.setHistory(stored);
    EXPECT_NEAR(timeIn(late, LanePhase::kTraining), 10'000, 1);
    EXPECT_NEAR(timeIn(late, LanePhase::kStanding), 17'000, 1);
    EXPECT_NEAR(timeIn(late, LanePhase::kEnding), 3'000, 1);
}

TEST(LaneTrackerTest, StaysBoundedAndExactOverADay) {
    LaneTracker tracker({.numSpansMax = 1'000});
    RandomRun scene(7);
    tracker.update(scene.run(), kStart);
    for (int i = 0; i < 50'000; ++i) {
        tracker.update(scene.next(), scene.run().progress.timeMs);
    }
    EXPECT_LE(tracker.spans().size(), 1'001U);
    expectOrdered(tracker);
    const values::PhaseTimes& times = *scene.run().progress.times;
    EXPECT_NEAR(timeIn(tracker, LanePhase::kTraining), times.busyMs, 1);
    EXPECT_NEAR(timeIn(tracker, LanePhase::kWaiting), times.stallMs, 1);
    EXPECT_NEAR(timeIn(tracker, LanePhase::kEvaluating), times.evaluateMs, 1);
    EXPECT_NEAR(timeIn(tracker, LanePhase::kCheckpoint), times.checkpointMs, 1);
}

// Shows a run that ended after 20 s, from its totals and its stored points.
void showEnded(LaneTracker& tracker, double busyMs, double evaluateMs,
               const std::vector<LaneTracker::Point>& stored) {
    values::RunSummary ended = runAt(0, Phase::kTraining, busyMs, 0, RunState::kFinished);
    ended.progress.times->evaluateMs = evaluateMs;
    ended.endedMs = kStart + 20'000;
    tracker.update(ended, ended.endedMs);
    tracker.setHistory(stored);
}

// Evaluations that are shorter than the distance of stored points keep their length.
TEST(LaneTrackerTest, ShowsShortEvaluationsThatAreOnlyStored) {
    std::vector<LaneTracker::Point> stored;
    for (int i = 1; i <= 10; ++i) {
        stored.push_back({kStart + i * 2'000.0, {1'200.0 * i, 0, 800.0 * i}, 1});
    }
    LaneTracker tracker;
    showEnded(tracker, 12'000, 8'000, stored);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kEvaluating), 8'000);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kTraining), 12'000);
    tracker.setHistory(stored);
    EXPECT_DOUBLE_EQ(timeIn(tracker, LanePhase::kEvaluating), 8'000) << "asked again";
}

// Stored points do not name their phase: a phase that continues over their border is joined.
TEST(LaneTrackerTest, AnEvaluationThatIsOnlyStoredIsOnePiece) {
    std::vector<LaneTracker::Point> stored;
    const auto evaluated = [](double ms) { return std::clamp(ms - 3'400.0, 0.0, 3'200.0); };
    for (double ms = 2'000; ms <= 20'000; ms += 2'000) {
        stored.push_back({kStart + ms, {ms - evaluated(ms), 0, evaluated(ms)}, 1});
    }
    LaneTracker tracker;
    showEnded(tracker, 16'800, 3'200, stored);
    std::vector<PhaseSpan> evaluations;
    for (const PhaseSpan& span : tracker.spans()) {
        if (span.phase == LanePhase::kEvaluating) {
            evaluations.push_back(span);
        }
    }
    ASSERT_EQ(evaluations.size(), 1U);
    EXPECT_DOUBLE_EQ(evaluations[0].fromMs, kStart + 3'400);
    EXPECT_DOUBLE_EQ(evaluations[0].toMs, kStart + 6'600);
}

}  // namespace
}  // namespace millrace::gui
