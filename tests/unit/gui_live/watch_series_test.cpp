#include "app/gui/models/live/watch_series.h"

#include <random>

#include <gtest/gtest.h>

#include "tests/support/metric_lines.h"

namespace millrace::gui {
namespace {

values::RunFigure pointOf(const std::string& name, std::int64_t step) {
    values::RunFigure point;
    point.name = name;
    point.step = step;
    point.value = static_cast<double>(step) * 10;
    point.timeMs = step * 100;
    return point;
}

values::MetricSeries seriesOf(const std::string& name, std::int64_t from, std::int64_t to,
                              std::int64_t every = 1) {
    values::MetricSeries series;
    series.key = name;
    for (std::int64_t step = from; step <= to; step += every) {
        values::MetricPoint& point = series.points.emplace_back();
        point.step = step;
        point.timeMs = step * 100;
        point.value = static_cast<double>(step) * 10;
        point.rows = step * 32;
    }
    series.isDecimated = every > 1;
    return series;
}

bool apply(WatchSeries& series, std::optional<std::int64_t> drop,
           const std::vector<values::RunFigure>& points) {
    const values::MetricChunk chunk = client::chunkOf(points);
    return series.apply(drop, chunk.lines, chunk.names);
}

std::vector<double> stepsOf(const WatchSeries& series, const std::string& name) {
    std::vector<double> steps;
    const auto curve = series.curve(name);
    for (std::size_t i = 0; curve && i < curve->size(); ++i) {
        steps.push_back(curve->at(i).x);
    }
    return steps;
}

TEST(WatchSeriesTest, JoinsHistoryAndLiveWithoutHoleOrDouble) {
    WatchSeries series;
    series.setHistory({"r-1", {seriesOf("loss", 1, 5), seriesOf("eval.auc", 4, 4)}, {2, 77}});
    EXPECT_EQ(series.followFrom(), (values::MetricCursor{2, 77}));
    const std::vector<values::RunFigure> live{pointOf("eval.auc", 5), pointOf("loss", 6)};
    EXPECT_FALSE(apply(series, std::nullopt, live));
    EXPECT_EQ(stepsOf(series, "loss"), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    EXPECT_EQ(stepsOf(series, "eval.auc"), (std::vector<double>{4, 5}));
}

// A feed reports its rates each second, even if no step is taken.
TEST(WatchSeriesTest, HasTheSamePointsLiveAndFromTheStore) {
    WatchSeries live, late;
    values::MetricSeries stored;
    stored.key = "loader.rows_read_per_second";
    for (int second = 1; second <= 20; ++second) {
        values::RunFigure point = pointOf(stored.key, std::min(second, 8));
        point.timeMs = second * 1'000;
        point.value = second % 3 == 0 ? 0 : 50'000;
        apply(live, std::nullopt, {point});
        apply(live, std::nullopt, {point});  // reported again
        values::MetricPoint& kept = stored.points.emplace_back();
        kept.step = point.step;
        kept.timeMs = point.timeMs;
        kept.value = point.value;
    }
    late.setHistory({"r-1", {stored}, {1, 20}});
    const auto watched = live.curve(stored.key), read = late.curve(stored.key);
    ASSERT_EQ(watched->size(), read->size());
    for (std::size_t i = 0; i < read->size(); ++i) {
        EXPECT_EQ(watched->at(i).timeMs, read->at(i).timeMs);
        EXPECT_EQ(watched->at(i).y, read->at(i).y);
    }
}

TEST(WatchSeriesTest, DropsVoidPointsBeforeItAddsNewOnes) {
    WatchSeries series;
    series.setHistory({"", {seriesOf("loss", 1, 10)}, {}});
    const std::vector<values::RunFigure> again{pointOf("loss", 5), pointOf("loss", 6)};
    apply(series, 4, again);
    EXPECT_EQ(stepsOf(series, "loss"), (std::vector<double>{1, 2, 3, 4, 5, 6}));
    apply(series, -1, {});
    EXPECT_TRUE(stepsOf(series, "loss").empty());
    EXPECT_EQ(series.numDrops(), 2);
}

TEST(WatchSeriesTest, SaysWhenANameIsNew) {
    WatchSeries series;
    const std::vector<values::RunFigure> first{pointOf("loss", 1)}, second{pointOf("loss", 2)};
    EXPECT_TRUE(apply(series, std::nullopt, first));
    EXPECT_FALSE(apply(series, std::nullopt, second));
    EXPECT_EQ(series.curve("other"), nullptr);
}

TEST(WatchSeriesTest, ReplacesAPartByItsExactPoints) {
    WatchSeries series;
    series.setHistory({"", {seriesOf("loss", 0, 100, 10)}, {}});
    const std::vector<values::RunFigure> live{pointOf("loss", 101)};
    apply(series, std::nullopt, live);
    EXPECT_TRUE(series.wantsDetail("loss", 20, 40));
    EXPECT_FALSE(series.wantsDetail("loss", 101, 110)) << "live points are exact";
    series.refine({"", {seriesOf("loss", 20, 40)}, {}}, 20, 40);
    EXPECT_FALSE(series.wantsDetail("loss", 25, 40));
    EXPECT_TRUE(series.wantsDetail("loss", 10, 40));
    const std::vector<double> steps = stepsOf(series, "loss");
    EXPECT_EQ(std::count_if(steps.begin(), steps.end(),
                            [](double step) { return step >= 20 && step <= 40; }),
              21);
    EXPECT_EQ(steps.front(), 0);
    EXPECT_EQ(steps.back(), 101);
    EXPECT_TRUE(std::is_sorted(steps.begin(), steps.end()));
}

TEST(WatchSeriesTest, AsksAgainForWhatItGaveUpToItsBound) {
    WatchSeries series;
    std::vector<values::RunFigure> points;
    for (std::int64_t step = 1; step <= 100'000; ++step) {
        points.push_back(pointOf("loss", step));
    }
    apply(series, std::nullopt, points);
    EXPECT_LT(series.bytesUsed(), std::size_t{2} << 20);
    EXPECT_TRUE(series.wantsDetail("loss", 100, 200));
    EXPECT_FALSE(series.wantsDetail("loss", 99'900, 100'000));
    series.refine({"", {seriesOf("loss", 100, 200)}, {}}, 100, 200);
    EXPECT_FALSE(series.wantsDetail("loss", 100, 200));
}

TEST(WatchSeriesTest, FindsTheStepsOfAVisibleTime) {
    WatchSeries series;
    series.setHistory({"", {seriesOf("loss", 1, 100)}, {}});
    const auto steps = series.stepsIn({"loss", "absent"}, CurveAxis::kTime, 2'050, 3'050);
    ASSERT_TRUE(steps);
    EXPECT_EQ(steps->from, 20);
    EXPECT_EQ(steps->to, 31);
    EXPECT_FALSE(series.stepsIn({"absent"}, CurveAxis::kTime, 0, 1));
}

TEST(WatchSeriesTest, TakesTelemetryInTheOrderOfTime) {
    WatchSeries series;
    EXPECT_TRUE(series.addSample("system.rank.cpu_percent", 3, 1'000, 50));
    EXPECT_FALSE(series.addSample("system.rank.cpu_percent", 3, 2'000, 60));
    series.addSample("system.rank.cpu_percent", 3, 2'000, 99);
    EXPECT_EQ(stepsOf(series, "system.rank.cpu_percent"), (std::vector<double>{3, 3}));
    EXPECT_EQ(series.curve("system.rank.cpu_percent")->newest()->y, 60);
}

// A line of `step` whose ranks differ: from step to 100 + step, held by ranks 3 and 5.
values::MetricLine ranksAt(std::int64_t step) {
    values::MetricLine line;
    line.step = step;
    const auto value = static_cast<double>(step);
    line.values = {{7, value + 10, values::RankSpread{value, value + 100, 3, 5, 8}}};
    return line;
}

TEST(WatchSeriesTest, WhereRanksDifferACurveHasABandThatSaysWhose) {
    WatchSeries series;
    series.setHistory({"", {seriesOf("stall", 1, 3)}, {}});
    EXPECT_EQ(series.band("stall"), nullptr) << "one rank has none";
    const values::MetricNames names{{7, "stall"}};
    const std::vector<values::MetricLine> live{ranksAt(4), ranksAt(5)};
    EXPECT_TRUE(series.apply(std::nullopt, live, names)) << "the chart has a band to take";
    const auto band = series.band("stall");
    ASSERT_NE(band, nullptr);
    ASSERT_EQ(band->low().size(), 2U);
    EXPECT_EQ(band->low().value(1), 5);
    EXPECT_EQ(band->highAbove(1), 105);
    ASSERT_NE(band->holderAt(5), nullptr);
    EXPECT_EQ(band->holderAt(5)->least, 3);
    EXPECT_EQ(band->holderAt(5)->greatest, 5);
    EXPECT_EQ(series.curve("stall")->newest()->y, 15) << "the curve has the medians";
    series.apply(4, {}, names);
    EXPECT_EQ(band->low().size(), 1U);
    values::MetricSeries history = seriesOf("stall", 1, 2);
    history.points[0].ranks = values::RankSpread{-1, 90, 2, 511, 512};
    series.setHistory({"", {history}, {}});
    EXPECT_EQ(band->low().value(0), -1);
    EXPECT_EQ(band->holderAt(1)->greatest, 511);
    EXPECT_EQ(band->highAbove(1), 20) << "of one rank both edges are its value";
}

TEST(WatchSeriesTest, TheEdgesOfALongBandStayTogether) {
    WatchSeries series;
    const values::MetricNames names{{7, "stall"}};
    std::vector<values::MetricLine> live;
    for (std::int64_t step = 1; step <= 100'000; ++step) {
        live.push_back(ranksAt(step));
        // The edges have their extremes at other points than the values.
        live.back().values[0].ranks->greatest += static_cast<double>(step * 7919 % 13);
    }
    series.apply(std::nullopt, live, names);
    const auto band = series.band("stall");
    ASSERT_LT(band->low().size(), 40'000U);
    int numPaired = 0;
    for (std::size_t i = 0; i < band->low().size(); ++i) {
        if (const auto high = band->highAbove(i)) {
            const double step = band->low().at(i).x;
            ASSERT_EQ(*high, step + 100 + static_cast<double>(std::int64_t(step) * 7919 % 13));
            ++numPaired;
        }
    }
    EXPECT_GT(numPaired, 10'000);
}

TEST(WatchSeriesTest, EqualsAPlainMapWhateverComesInWhichOrder) {
    std::mt19937 random(17);
    for (int round = 0; round < 50; ++round) {
        WatchSeries series;
        std::map<std::int64_t, double> truth;
        const auto stored = static_cast<std::int64_t>(random() % 50 + 1);
        for (std::int64_t step = 1; step <= stored; ++step) {
            truth[step] = static_cast<double>(step) * 10;
        }
        series.setHistory({"", {seriesOf("loss", 1, stored)}, {}});
        std::int64_t next = stored + 1;
        for (int delivery = 0; delivery < 30; ++delivery) {
            std::optional<std::int64_t> drop;
            if (random() % 8 == 0) {
                drop = static_cast<std::int64_t>(random() % static_cast<unsigned>(next));
                truth.erase(truth.upper_bound(*drop), truth.end());
                next = *drop + 1;
            }
            std::vector<values::RunFigure> points;
            for (unsigned i = 0; i < random() % 6; ++i, ++next) {
                points.push_back(pointOf("loss", next));
                truth[next] = static_cast<double>(next) * 10;
            }
            apply(series, drop, points);
        }
        std::vector<double> expected;
        for (const auto& [step, value] : truth) {
            expected.push_back(static_cast<double>(step));
        }
        ASSERT_EQ(stepsOf(series, "loss"), expected) << round;
    }
}

}  // namespace
}  // namespace millrace::gui
