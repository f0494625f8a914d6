#include "app/session/live_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/session/metric_catalogue.h"
#include "app/session/metric_sense.h"
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
    run.progress.stepsPerSecond = 10;
    return {run};
}

// A client that opens a run now shows the same as a client that has followed it for hours.
TEST(LiveModel, TheRemainingTimeIsThatOfTheRunsOwnPace) {
    LiveModel model;
    RunChanged unknown = at(1'000, 100);
    unknown.run.progress.stepsPerSecond.reset();
    model.apply(unknown, 1'000);
    EXPECT_FALSE(model.runs["r-abc23"].secondsLeft(1'000).has_value());
    model.apply(at(3'000, 120), 3'000);
    EXPECT_DOUBLE_EQ(model.runs["r-abc23"].secondsLeft(3'000).value(), 51.0);
    LiveModel another;
    another.apply(at(3'000, 120), 7'000);
    EXPECT_DOUBLE_EQ(another.runs["r-abc23"].secondsLeft(7'000).value(), 51.0);
    RunChanged ended = at(3'000, 120);
    ended.run.state = RunState::kFinished;
    another.apply(ended, 8'000);
    EXPECT_FALSE(another.runs["r-abc23"].secondsLeft(8'000).has_value());
}

TEST(LiveModel, NodesHaveTheStateThatWasListedLast) {
    LiveModel model;
    values::NodeSample sample;
    sample.node = "new";
    model.apply(NodeSampled{sample}, 1'000);
    values::NodeInfo kept, gone;
    kept.name = "kept";
    gone.name = "gone";
    model.apply(NodesListed{{gone, kept}}, 1'000);
    EXPECT_EQ(stateText(model.nodes["kept"].info), "");
    kept.state = "lost";
    model.apply(NodesListed{{kept}}, 3'000);
    EXPECT_EQ(stateText(model.nodes["kept"].info), "lost");
    EXPECT_FALSE(isThere(model.nodes["kept"].info));
    EXPECT_FALSE(model.nodes.contains("gone")) << "it was forgotten";
    EXPECT_TRUE(model.nodes.contains("new")) << "it is listed soon";
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
    model.apply(withRate(500'000), 1'000);  // the daemon's clock is a different one
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
    for (const char* id : {"r-c", "r-a", "r-b"}) {  // the map has another order
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

TEST(Stall, NowAndTheWholeRunAreApart) {
    values::RunSummary run = aRun("r-abc23", "", RunState::kRunning);
    run.progress.times.reset();
    EXPECT_EQ(stallText(run), "-") << "unknown is not 0";
    run.progress.stallPercentNow = 0;
    run.progress.times = values::PhaseTimes{50'000, 36'000, 8'000, 1'000, 5'000};
    EXPECT_EQ(stallText(run), "now 0 %, run 36 %");
    EXPECT_EQ(stallText(run, true), "run 36 %") << "of now nothing is known";
    run.state = RunState::kFinished;
    EXPECT_EQ(stallText(run), "36 %");
    run.dataset.clear();
    EXPECT_EQ(stallText(run), "-") << "nothing was read";
    run.dataset = "ratings";
    EXPECT_FALSE(stallNow(run).has_value());
    run.state = RunState::kQueued;
    EXPECT_FALSE(stallNow(run).has_value());
}

TEST(Stall, OfTheWholeRunIsWhatTablesShowOfIt) {
    values::RunSummary run = aRun("r-abc23", "", RunState::kFinished);
    run.latestMetrics = {{values::metric::kInputStallPercent, 0, 630, 10'000, 0}};
    run.progress.times.reset();
    EXPECT_FALSE(shownValue(run, values::metric::kInputStallPercent).has_value())
        << "the last second's is not the run's";
    run.progress.times = values::PhaseTimes{64'000, 36'000};
    EXPECT_DOUBLE_EQ(shownValue(run, values::metric::kInputStallPercent).value(), 36);
    EXPECT_EQ(timesText(*run.progress.times), "1 m 04 s training, 36.0 s waiting for data");
    run.progress.times->endingMs = 25'000;
    EXPECT_THAT(timesText(*run.progress.times), ::testing::EndsWith(", 25.0 s ending"));
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
