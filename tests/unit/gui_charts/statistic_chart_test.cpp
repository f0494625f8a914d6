#include <QHelpEvent>
#include <QPainter>

#include <gtest/gtest.h>

#include "app/gui/charts/chart.h"
#include "app/gui/charts/parts/lane_strip.h"
#include "app/gui/charts/parts/sparkline.h"

namespace millrace::gui {
namespace {

const QColor kBarInk(0xd5, 0x5e, 0x00);

int numPixelsLike(const QImage& image, const QColor& color, const QRect& where,
                  int tolerance = 40) {
    int count = 0;
    for (int y = where.top(); y <= where.bottom(); ++y) {
        for (int x = where.left(); x <= where.right(); ++x) {
            const QColor pixel = image.pixelColor(x, y);
            count += std::abs(pixel.red() - color.red()) + std::abs(pixel.green() - color.green()) +
                                 std::abs(pixel.blue() - color.blue()) <
                             tolerance
                         ? 1
                         : 0;
        }
    }
    return count;
}

int numPixelsLike(const QImage& image, const QColor& color) {
    return numPixelsLike(image, color, image.rect());
}

TEST(StatisticChart, DrawsBarsAsHighAsTheirValues) {
    const auto chart = makeChart(ChartKind::kBars);
    chart->resize(400, 240);
    chart->setContent(Bars{{"a", "b"}, {{"rows", kBarInk, {10, 40}}}});
    const QImage image = chart->grabImage();
    const int left = numPixelsLike(image, kBarInk, QRect(0, 0, 200, 240));
    const int right = numPixelsLike(image, kBarInk, QRect(200, 0, 200, 240));
    ASSERT_GT(left, 500);
    EXPECT_NEAR(right / double(left), 4.0, 0.6);
}

TEST(StatisticChart, SaysWhatIsMissingWhereThereIsNothing) {
    const auto chart = makeChart(ChartKind::kFunnel);
    chart->setEmptyText("Open a finished run to see its receipt.");
    EXPECT_TRUE(chart->isEmpty());
    EXPECT_TRUE(chart->summary().contains("Open a finished run"));
    chart->setContent(Bars{{"a"}, {{"x", kBarInk, {1}}}});
    EXPECT_TRUE(chart->isEmpty()) << "bars are not a funnel";
}

TEST(StatisticChart, TellsTheStepsOfAFunnelInWords) {
    const auto chart = makeChart(ChartKind::kFunnel);
    chart->setTitle("receipt");
    chart->setContent(Funnel{{{"filter", "x > 1", 1000, 750}, {"join", "", 750, 900}}, kBarInk});
    EXPECT_EQ(chart->summary(),
              "receipt: filter 1,000 rows in, 750 out (25 % removed); join 750 rows in, 900 out "
              "(20 % added)");
    EXPECT_EQ(chart->visibleCsv(),
              "step,rows_in,rows_out\n\"filter\",1000,750\n\"join\",750,900\n");
    chart->resize(400, 160);
    EXPECT_GT(numPixelsLike(chart->grabImage(), kBarInk), 1000);
}

TEST(StatisticChart, DrawsHistogramAndScatterAndSkipsValuesThatAreNotFinite) {
    const auto histogram = makeChart(ChartKind::kHistogram);
    histogram->resize(300, 200);
    histogram->setContent(Histogram{{0, 1, 2, 4}, {5, 9, 2}, kBarInk, 1.5, "median"});
    EXPECT_FALSE(histogram->isEmpty());
    EXPECT_GT(numPixelsLike(histogram->grabImage(), kBarInk), 50);
    const auto scatter = makeChart(ChartKind::kScatter);
    scatter->resize(300, 200);
    scatter->setContent(
        Scatter{{{"runs", kBarInk, {{1, 2, "a"}, {kNoValue, 1, "b"}, {3, 4, "c"}}}}, {}});
    EXPECT_GT(numPixelsLike(scatter->grabImage(), kBarInk, QRect(0, 0, 300, 200), 90), 20);
}

TEST(Sparkline, ShowsASpikeOfOneValueInManyAndLeavesGapsOpen) {
    QImage image(100, 20, QImage::Format_ARGB32_Premultiplied);
    image.fill(Qt::white);
    std::vector<double> values(5000, 0.0);
    values[2500] = 1;
    std::fill(values.begin() + 3500, values.begin() + 4500, kNoValue);
    QPainter painter(&image);
    paintSparkline(painter, image.rect(), values, {kBarInk, QColor(), false, {}});
    painter.end();
    EXPECT_GT(numPixelsLike(image, kBarInk, QRect(45, 3, 10, 12)), 4);
    EXPECT_EQ(numPixelsLike(image, kBarInk, QRect(75, 0, 10, 20), 400), 0);
    EXPECT_GT(numPixelsLike(image, kBarInk, QRect(92, 10, 8, 10), 250), 0);
}

Lane laneOf() {
    return {"r",
            "movielens / keep-30",
            kBarInk,
            {{0, 60'000, LanePhase::kTraining},
             {60'000, 60'001, LanePhase::kCheckpoint},
             {60'001, 90'000, LanePhase::kWaiting},
             {90'000, std::numeric_limits<double>::infinity(), LanePhase::kTraining}},
            {}};
}

TEST(LaneStrip, AddsUpWhatALaneDidAndGrowsWithTheClock) {
    LaneStrip strip;
    strip.setNow(100'000);
    const std::vector<double> spent = strip.durations(laneOf());
    EXPECT_EQ(spent[0], 70'000);
    EXPECT_EQ(spent[1], 29'999);
    EXPECT_EQ(spent[2], 1);
    Lane ended = laneOf();
    ended.endedMs = 95'000;
    EXPECT_EQ(strip.durations(ended)[0], 65'000);
}

TEST(LaneStrip, PaintsPhasesWhereTheyWere) {
    LaneStrip strip;
    strip.resize(500, 120);
    strip.setNow(100'000);
    strip.setLanes({laneOf()});
    const QImage image = strip.grab().toImage();
    const QColor training = lanePhaseColor(LanePhase::kTraining, strip.palette());
    const QColor waiting = lanePhaseColor(LanePhase::kWaiting, strip.palette());
    const int y = 20;
    int firstWaiting = -1, lastWaiting = -1, firstTraining = -1;
    for (int x = 0; x < image.width(); ++x) {
        if (image.pixelColor(x, y) == waiting) {
            firstWaiting = firstWaiting < 0 ? x : firstWaiting;
            lastWaiting = x;
        }
        if (firstTraining < 0 && image.pixelColor(x, y) == training) {
            firstTraining = x;
        }
    }
    ASSERT_GT(firstTraining, 0);
    ASSERT_GT(firstWaiting, firstTraining);
    EXPECT_NEAR((lastWaiting - firstWaiting) / double(firstWaiting - firstTraining), 0.5, 0.05);
    EXPECT_TRUE(strip.textAt(QPoint((firstWaiting + lastWaiting) / 2, y))
                    .contains("waiting for input for 30 s"));
    EXPECT_TRUE(strip.textAt(QPoint(firstWaiting, y)).contains("training 70.0 %"));
}

}  // namespace
}  // namespace millrace::gui
