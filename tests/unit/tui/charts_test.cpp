#include "app/tui/charts.h"

#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/tui/figures.h"

namespace millrace::tui {
namespace {

using ::testing::HasSubstr;
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(Charts, AProgressBarFillsInEighths) {
    EXPECT_EQ(progressBar(0.5, 4), "██░░");
    EXPECT_EQ(progressBar(0.5 + 1.0 / 8, 4), "██▌░");
    EXPECT_EQ(progressBar(2.0, 3), "███");
    EXPECT_EQ(progressBar(kNan, 3), "░░░");
    EXPECT_EQ(progressBar(0.5, 4, false), "##--");
}

TEST(Charts, ASparklineShowsRangeHolesAndSpikes) {
    const double rising[] = {0, 1, 2, 3, 4, 5, 6, 7};
    EXPECT_EQ(sparkline(rising, 8), "▁▂▃▄▅▆▇█");
    const double hole[] = {0, kNan, 7};
    EXPECT_EQ(sparkline(hole, 3), "▁ █");
    std::vector<double> spike(1000, 0.0);
    spike[501] = 100;
    EXPECT_THAT(sparkline(spike, 20, true, Pick::kMax), HasSubstr("█"));
    EXPECT_EQ(sparkline(rising, 8, false).size(), 8U);
    EXPECT_EQ(sparkline({}, 8), "");
}

TEST(Charts, AConstantIsAFlatLine) {
    const std::vector<double> constant(652, 0.003);
    EXPECT_EQ(sparkline(constant, 6), "▅▅▅▅▅▅");
}

TEST(Charts, AFixedScaleIsKept) {
    const double low[] = {1, 2};
    EXPECT_EQ(sparkline(low, 2, true, Pick::kMax, 0, 100), "▁▁");
}

TEST(Charts, ALineChartHasRoundedLabelsAndBrailleDots) {
    CellGrid grid(40, 8);
    ChartSeries series;
    for (int x = 1; x <= 100; ++x) {
        series.points.push_back({static_cast<double>(x), 1.0 / x});
    }
    drawLineChart(grid, grid.area(), {series}, "step");
    const auto lines = grid.lines();
    EXPECT_THAT(lines[0], HasSubstr("1 │"));
    EXPECT_THAT(lines[6], HasSubstr("0.0100 │"));
    EXPECT_THAT(lines[7], HasSubstr("step 100"));
    int dots = 0;
    for (const std::string& line : lines) {
        dots += line.find("\xe2\xa0") != std::string::npos ||
                line.find("\xe2\xa1") != std::string::npos ||
                line.find("\xe2\xa2") != std::string::npos ||
                line.find("\xe2\xa3") != std::string::npos;
    }
    EXPECT_GE(dots, 5);
}

TEST(Charts, WithoutValuesTheChartSaysSo) {
    CellGrid grid(40, 6);
    drawLineChart(grid, grid.area(), {{{{1, kNan}}}});
    EXPECT_THAT(grid.text(), HasSubstr("no values yet"));
}

TEST(Charts, OneFlatSeriesStillHasARange) {
    CellGrid grid(40, 6, false);
    drawLineChart(grid, grid.area(), {{{{1, 5}, {2, 5}}}});
    EXPECT_THAT(grid.text(), HasSubstr("*"));
}

TEST(Figures, NumbersAreShort) {
    EXPECT_EQ(session::shortNumber(0.51234), "0.5123");
    EXPECT_EQ(session::shortNumber(42'123.4), "42,123");
    EXPECT_EQ(session::shortNumber(421'234), "421,234");
    EXPECT_EQ(session::shortNumber(1'050'000), "1.05 M");
    EXPECT_EQ(session::shortNumber(7), "7");
    EXPECT_EQ(session::shortNumber(kNan), "n/a");
}

TEST(Figures, UnknownIsNeverZero) {
    EXPECT_EQ(session::percentText(std::nullopt), "n/a");
    EXPECT_EQ(session::rateText(std::nullopt), "n/a");
    EXPECT_EQ(session::usedText(5, std::nullopt), "n/a");
    EXPECT_EQ(session::secondsText(std::nullopt), "-");
    EXPECT_EQ(session::usedText(3'200'000'000, 23'900'000'000), "3.2/23.9 GB");
    EXPECT_EQ(session::secondsText(3909.0), "1 h 05 m");
}

}  // namespace
}  // namespace millrace::tui
