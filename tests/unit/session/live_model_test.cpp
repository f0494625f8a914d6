#include "app/session/live_model.h"

#include <gtest/gtest.h>

#include "app/session/metric_catalogue.h"
#include "tests/support/fake_client.h"
#include "tests/support/metric_lines.h"

namespace millrace::session {
namespace {

using client::aRun;
using values::RunState;

RunChanged at(std::int64_t timeMs, std::int64_t step) {
    values::RunSummary run = aRun("r-abc23", "", RunState::kRunning);
    run.progress.timeMs = timeMs;
    run.progress.step = step;
    return {run};
}

TEST(LiveModel, TheRemainingTimeComesFromTheLastSecondsPace) {
    LiveModel model;
    model.apply(at(1'000, 100), 1'000);
    EXPECT_FALSE(model.runs["r-abc23"].secondsLeft(1'000).has_value());
    model.apply(at(3'000, 120), 3'000);
    EXPECT_DOUBLE_EQ(model.runs["r-abc23"].progress.stepsPerSecond().value(), 10.0);
    EXPECT_DOUBLE_EQ(model.runs["r-abc23"].secondsLeft(3'000).value(), 51.0);
}

TEST(LiveModel, AForecastFromReportsThatAreOldIsNone) {
    LiveModel model;
    model.apply(at(1'000, 100), 1'000);
    model.apply(at(3'000, 120), 3'000);
    EXPECT_TRUE(model.runs["r-abc23"].secondsLeft(18'000).has_value());
    EXPECT_FALSE(model.runs["r-abc23"].secondsLeft(18'001).has_value());
    RunChanged stalled = at(3'000, 120);
    stalled.run.standsSinceMs = 3'000;
    stalled.run.trouble = "rank0 stands still";
    model.apply(stalled, 4'000);
    EXPECT_FALSE(model.runs["r-abc23"].secondsLeft(4'000).has_value());
}

TEST(LiveModel, RatesThatHaveNotComeHaveNoAge) {
    LiveModel model;
    RunChanged stalled = at(500'000, 0);
    stalled.run.latestMetrics.clear();
    model.apply(stalled, 1'000);
    EXPECT_FALSE(model.runs["r-abc23"].oldRatesSeconds(60'000).has_value());
    stalled.run.standsSinceMs = 2'000;
    model.apply(stalled, 61'000);
    EXPECT_FALSE(model.runs["r-abc23"].oldRatesSeconds(62'000).has_value());
}

TEST(LiveModel, RatesSayHowOldTheyAreFromFiveSecondsOn) {
    LiveModel model;
    const auto withRate = [](std::int64_t timeMs) {
        RunChanged changed = at(timeMs, 100);
        changed.run.latestMetrics = {{"samples_per_second", 100, 100, timeMs}};
        return changed;
    };
    model.apply(withRate(500'000), 1'000);  // the daemon's clock is another one
    LiveRun& run = model.runs["r-abc23"];
    EXPECT_FALSE(run.oldRatesSeconds(6'000).has_value());
    EXPECT_DOUBLE_EQ(run.oldRatesSeconds(7'000).value(), 6);
    model.apply(withRate(500'200), 8'000);
    EXPECT_FALSE(run.oldRatesSeconds(9'000).has_value());
    RunChanged stalled = withRate(500'200);
    stalled.run.standsSinceMs = 2'000;
    model.apply(stalled, 122'000);
    EXPECT_DOUBLE_EQ(run.oldRatesSeconds(122'000).value(), 120) << "since it stands still";
    stalled.run.state = RunState::kFailed;
    model.apply(stalled, 123'000);
    EXPECT_FALSE(run.oldRatesSeconds(500'000).has_value()) << "its rates are of its end";
}

TEST(LiveModel, AStepBackAfterARestartStartsThePaceAnew) {
    LiveModel model;
    model.apply(at(1'000, 100), 0);
    model.apply(at(2'000, 200), 0);
    model.apply(at(3'000, 150), 0);
    EXPECT_FALSE(model.runs["r-abc23"].progress.stepsPerSecond().has_value());
}

TEST(LiveModel, RunsThatGoStandBeforeThoseThatEnded) {
    LiveModel model;
    values::RunSummary old = aRun("r-old23", "", RunState::kRunning);
    values::RunSummary ended = aRun("r-new23");
    ended.createdMs = old.createdMs + 1;
    model.apply(RunChanged{ended}, 0);
    model.apply(RunChanged{old}, 0);
    ASSERT_EQ(model.ordered().size(), 2U);
    EXPECT_EQ(model.ordered()[0]->summary.id, "r-old23");
}

TEST(LiveModel, RunsOfOneSubmitStandInItsOrder) {
    LiveModel model;
    for (const char* id : {"r-c", "r-a", "r-b"}) {  // what the map makes of it is another order
        values::RunSummary run = aRun(id, "", RunState::kQueued);
        run.uid = strCat("0190", model.runs.size());
        model.apply(RunChanged{run}, 0);
    }
    std::string ids;
    for (const LiveRun* run : model.ordered()) {
        ids += run->summary.id + " ";
    }
    EXPECT_EQ(ids, "r-c r-a r-b ");
}

TEST(LiveModel, AStreamThatEndedIsNotTheEndOfAll) {
    LiveModel model;
    model.apply(StreamEnded{"r-aaaaa", false}, 0);
    EXPECT_FALSE(model.hasEnded);
    model.apply(AllEnded{}, 0);
    EXPECT_TRUE(model.hasEnded);
}

TEST(LiveModel, ANodeIsStaleWhenNoSampleCame) {
    LiveModel model;
    values::NodeSample sample;
    sample.node = "a";
    model.apply(NodeSampled{sample}, 10'000);
    EXPECT_FALSE(LiveModel::isStale(model.nodes["a"], 12'000));
    EXPECT_TRUE(LiveModel::isStale(model.nodes["a"], 14'000));
}

TEST(Series, ThinningKeepsTheSpike) {
    Series series;
    for (int step = 1; step <= 30'000; ++step) {
        series.add(step, step == 12'345 ? 99.0 : 1.0);
    }
    EXPECT_LT(series.points().size(), 8'192U);
    const bool hasSpike = std::any_of(series.points().begin(), series.points().end(),
                                      [](const auto& p) { return p.second == 99.0; });
    EXPECT_TRUE(hasSpike);
    EXPECT_TRUE(std::is_sorted(series.points().begin(), series.points().end(),
                               [](const auto& a, const auto& b) { return a.first < b.first; }));
}

RunChanged report(std::int64_t timeMs, double busyMs, double stallMs, int attempt = 1) {
    values::RunSummary run = aRun("r-abc23", "", RunState::kRunning);
    run.attempt = attempt;
    run.progress.timeMs = timeMs;
    run.progress.busyMs = busyMs;
    run.progress.stallMs = stallMs;
    return {run};
}

TEST(Stall, IsTheShareOfTheTimeBetweenTheLastTwoReports) {
    LiveModel model;
    const LiveRun& run = model.runs["r-abc23"];
    model.apply(report(10'000, 5'000, 5'000), 0);
    EXPECT_FALSE(run.stallPercent().has_value()) << "one report says nothing of now";
    model.apply(report(11'000, 5'900, 5'100), 0);
    EXPECT_DOUBLE_EQ(run.stallPercent().value(), 10.0);
    model.apply(report(11'000, 5'900, 5'100), 0);
    EXPECT_DOUBLE_EQ(run.stallPercent().value(), 10.0) << "the same report again";
    model.apply(report(12'000, 6'900, 5'100), 0);
    EXPECT_DOUBLE_EQ(run.stallPercent().value(), 0.0);
}

TEST(Stall, IsAllOfTheTimeWhereAWaitThatEndedBeganBefore) {
    LiveModel model;
    model.apply(report(10'000, 10'000, 0), 0);
    model.apply(report(11'000, 9'500, 1'500), 0);
    EXPECT_DOUBLE_EQ(model.runs["r-abc23"].stallPercent().value(), 100.0);
}

TEST(Stall, StartsAnewWithAnAttempt) {
    LiveModel model;
    const LiveRun& run = model.runs["r-abc23"];
    model.apply(report(10'000, 1'000, 0), 0);
    model.apply(report(11'000, 1'500, 500), 0);
    ASSERT_DOUBLE_EQ(run.stallPercent().value(), 50.0);
    model.apply(report(11'000, 1'500, 500, 2), 0);  // still carries the old report
    EXPECT_FALSE(run.stallPercent().has_value());
    model.apply(report(20'000, 3'000, 1'000, 2), 0);
    EXPECT_FALSE(run.stallPercent().has_value()) << "the old attempt's totals are not its own";
    model.apply(report(21'000, 3'800, 1'200, 2), 0);
    EXPECT_DOUBLE_EQ(run.stallPercent().value(), 20.0);
}

TEST(Stall, IsWhatTheTrainerLoggedBeforeTwoReports) {
    LiveModel model;
    RunChanged changed = report(10'000, 5'000, 5'000);
    changed.run.latestMetrics = {{values::metric::kInputStallPercent, 4.5, 100, 10'000, 0}};
    model.apply(changed, 0);
    EXPECT_DOUBLE_EQ(model.runs["r-abc23"].stallPercent().value(), 4.5);
}

TEST(Stall, OfARunThatWaitsOrHasEndedThereIsNone) {
    LiveModel model;
    const LiveRun& run = model.runs["r-abc23"];
    model.apply(report(10'000, 1'000, 0), 0);
    model.apply(report(11'000, 1'500, 500), 0);
    ASSERT_TRUE(run.stallPercent().has_value());
    for (const RunState state : {RunState::kQueued, RunState::kFinished, RunState::kFailed}) {
        RunChanged changed = report(11'000, 1'500, 500);
        changed.run.state = state;
        model.apply(changed, 0);
        EXPECT_FALSE(run.stallPercent().has_value()) << static_cast<int>(state);
    }
}

TEST(Backoff, GrowsToASecondAndStartsAnew) {
    Backoff backoff;
    EXPECT_EQ(backoff.nextMs(), 250);
    EXPECT_EQ(backoff.nextMs(), 500);
    for (int i = 0; i < 20; ++i) {
        backoff.nextMs();
    }
    EXPECT_EQ(backoff.nextMs(), 1'000);
    backoff.reset();
    EXPECT_EQ(backoff.nextMs(), 250);
}

}  // namespace
}  // namespace millrace::session
