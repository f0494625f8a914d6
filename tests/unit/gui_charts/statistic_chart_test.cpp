#include <QHelpEvent>
#include <QPainter>
#include <limits>

#include <gtest/gtest.h>

#include "app/gui/charts/chart.h"
#include "app/gui/charts/parts/lane_paint.h"
#include "app/gui/charts/parts/sparkline.h"
#include "backend/values/run_summary.h"

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

TEST(StatisticChart, DrawsBinsAsHighAsTheirCounts) {
    const auto chart = makeChart(ChartKind::kHistogram);
    chart->resize(400, 240);
    const QColor fill(0, 0, 0);
    chart->setContent(Histogram{{0, 1, 2}, {10, 40}, fill, {}, {}});
    const QImage image = chart->grabImage();
    // The half-transparent fill on the background has a colour that no text and no line has.
    const QColor inBin = image.pixelColor(300, 150);
    const int left = numPixelsLike(image, inBin, QRect(0, 0, 215, 240), 12);
    const int right = numPixelsLike(image, inBin, QRect(215, 0, 185, 240), 12);
    ASSERT_GT(left, 500);
    EXPECT_NEAR(right / double(left), 4.0, 0.6);
}

TEST(StatisticChart, SaysWhatIsMissingWhereThereIsNothing) {
    const auto chart = makeChart(ChartKind::kFunnel);
    chart->setEmptyText("Open a finished run to see its receipt.");
    EXPECT_TRUE(chart->isEmpty());
    EXPECT_TRUE(chart->summary().contains("Open a finished run"));
    chart->setContent(Histogram{{0, 1}, {1}, kBarInk, {}, {}});
    EXPECT_TRUE(chart->isEmpty()) << "a histogram is not a funnel";
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

TEST(StatisticChart, DrawsAHistogramWithItsMarker) {
    const auto histogram = makeChart(ChartKind::kHistogram);
    histogram->resize(300, 200);
    histogram->setContent(Histogram{{0, 1, 2, 4}, {5, 9, 2}, kBarInk, 1.5, "median"});
    EXPECT_FALSE(histogram->isEmpty());
    EXPECT_GT(numPixelsLike(histogram->grabImage(), kBarInk), 50);
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

TEST(LanePaint, CallsAPhaseAsTheJsonOutputDoes) {
    const std::pair<LanePhase, values::Phase> kPhases[] = {
        {LanePhase::kTraining, values::Phase::kTraining},
        {LanePhase::kWaiting, values::Phase::kWaiting},
        {LanePhase::kCheckpoint, values::Phase::kCheckpoint},
        {LanePhase::kEvaluating, values::Phase::kEvaluating},
        {LanePhase::kEnding, values::Phase::kEnding}};
    for (const auto& [lane, phase] : kPhases) {
        EXPECT_EQ(lanePhaseName(lane).toStdString(), nameOf(phase));
    }
    values::RunSummary run;
    run.standsSinceMs = 1;
    EXPECT_EQ(lanePhaseName(LanePhase::kStanding).toStdString(), run.stateWord());
}

TEST(LanePaint, PaintsPhasesWhereTheyWereAndLetsTheOpenOneGrow) {
    const QPalette palette;
    const QColor training = lanePhaseColor(LanePhase::kTraining, palette);
    const QColor waiting = lanePhaseColor(LanePhase::kWaiting, palette);
    Lane lane{{{0, 60'000, LanePhase::kTraining},
               {60'000, 90'000, LanePhase::kWaiting},
               {90'000, std::numeric_limits<double>::infinity(), LanePhase::kTraining}},
              {}};
    const auto painted = [&](double nowMs) {
        QImage image(200, 10, QImage::Format_ARGB32_Premultiplied);
        image.fill(Qt::white);
        QPainter painter(&image);
        paintLane(painter, image.rect(), lane, 0, 200'000, nowMs, palette);
        painter.end();
        return image;
    };
    const auto is = [](const QImage& image, int x, const QColor& color) {
        return image.pixelColor(x, 5) == color;
    };
    const QImage early = painted(100'000);
    EXPECT_TRUE(is(early, 0, training) && is(early, 59, training));
    EXPECT_TRUE(is(early, 60, waiting) && is(early, 89, waiting));
    EXPECT_TRUE(is(early, 99, training));
    EXPECT_FALSE(is(early, 101, training)) << "that has not happened yet";
    EXPECT_TRUE(is(painted(150'000), 149, training)) << "the open span grows with the clock";
    lane.endedMs = 95'000;
    EXPECT_FALSE(is(painted(150'000), 96, training)) << "the job ended";
}

}  // namespace
}  // namespace millrace::gui
