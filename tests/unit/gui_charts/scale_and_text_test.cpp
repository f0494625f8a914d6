#include <QDateTime>
#include <QRegularExpression>
#include <QStringList>
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "app/gui/charts/parts/plot_scale.h"
#include "app/gui/charts/parts/tick_marks.h"
#include "app/gui/charts/parts/tick_texts.h"
#include "app/gui/charts/parts/value_text.h"

namespace millrace::gui {
namespace {

QStringList textsOf(const TickMarks& ticks) {
    QStringList texts;
    for (const TickMark& mark : ticks.marks) {
        texts << mark.text;
    }
    return texts;
}

TEST(TickMarks, StandAtRoundValuesWithOnePrefixForTheWholeAxis) {
    EXPECT_EQ(textsOf(valueTicks(0, 1, 5, {})),
              QStringList({"0.0", "0.2", "0.4", "0.6", "0.8", "1.0"}).mid(0, 6));
    EXPECT_EQ(textsOf(valueTicks(0, 2e6, 4, {UnitKind::kCount, {}})),
              QStringList({"0.0", "0.5 M", "1.0 M", "1.5 M", "2.0 M"}));
    EXPECT_EQ(textsOf(valueTicks(0, 100, 4, {UnitKind::kPercent, {}})),
              QStringList({"0 %", "25 %", "50 %", "75 %", "100 %"}));
    EXPECT_EQ(textsOf(valueTicks(0, 1, 2, {UnitKind::kFraction, {}})),
              QStringList({"0 %", "50 %", "100 %"}));
    EXPECT_EQ(textsOf(valueTicks(0, 3e9, 3, {UnitKind::kBytes, {}})),
              QStringList({"0", "1 GB", "2 GB", "3 GB"}));
    EXPECT_EQ(textsOf(valueTicks(-0.1, 0.1, 4, {})),
              QStringList({"-0.10", "-0.05", "0.00", "0.05", "0.10"}));
}

TEST(TickMarks, ShowDurationsInTheirOwnUnits) {
    EXPECT_EQ(textsOf(axisTicks(0, 120'000, 4, XAxis::kRelativeTime)),
              QStringList({"0", "30 s", "1 m", "1 m 30 s", "2 m"}));
    EXPECT_EQ(textsOf(axisTicks(0, 8 * 3.6e6, 4, XAxis::kRelativeTime)),
              QStringList({"0", "2 h", "4 h", "6 h", "8 h"}));
    EXPECT_EQ(textsOf(valueTicks(0, 0.04, 4, {UnitKind::kSeconds, {}})),
              QStringList({"0", "10 ms", "20 ms", "30 ms", "40 ms"}));
}

TEST(TickMarks, NeverShowHalfASteps) {
    EXPECT_EQ(textsOf(axisTicks(0, 3, 10, XAxis::kStep)), QStringList({"0", "1", "2", "3"}));
    EXPECT_EQ(textsOf(axisTicks(0, 12'000, 4, XAxis::kStep)),
              QStringList({"0", "5,000", "10,000"}));
}

TEST(TickMarks, OfTimesOfDayStandAtWholeLocalMinutes) {
    const QDateTime start(QDate(2026, 11, 21), QTime(14, 0, 20));
    const double low = static_cast<double>(start.toMSecsSinceEpoch());
    const TickMarks ticks = axisTicks(low, low + 240'000, 4, XAxis::kWallTime);
    EXPECT_EQ(textsOf(ticks), QStringList({"14:01", "14:02", "14:03", "14:04"}));
    EXPECT_EQ(ticks.context, "21 Nov 2026");
}

TEST(TickTexts, TheNewestTimeStandsAtTheRightAndTheDateAtTheLeft) {
    const QDateTime start(QDate(2026, 11, 21), QTime(14, 0, 0));
    const double low = static_cast<double>(start.toMSecsSinceEpoch());
    PlotScale scale;
    scale.area = QRectF(50, 0, 400, 100);
    scale.x = {low, low + 240'000};
    const QFontMetricsF metrics{QFont()};
    const auto texts =
        placeTexts(axisTicks(scale.x.low, scale.x.high, 4, XAxis::kWallTime), {}, scale, metrics);
    ASSERT_GE(texts.size(), 3U);
    EXPECT_EQ(texts.front().text, "21 Nov 2026");
    EXPECT_EQ(texts.front().x, 50);
    EXPECT_EQ(texts.back().text, "14:04");
    double end = 0;
    for (const TickText& text : texts) {
        EXPECT_GE(text.x, end) << "texts do not overlap";
        end = text.x + metrics.horizontalAdvance(text.text);
    }
    EXPECT_LE(end, 460);
}

TEST(TickTexts, AtTheRightStandsNowOrWhereTheAxisEnds) {
    const QDateTime start(QDate(2026, 11, 21), QTime(14, 0, 0));
    const double low = static_cast<double>(start.toMSecsSinceEpoch());
    PlotScale scale;
    scale.area = QRectF(50, 0, 400, 100);
    scale.x = {low, low + 215'000};
    const QFontMetricsF metrics{QFont()};
    const TickMarks ticks = axisTicks(scale.x.low, scale.x.high, 2, XAxis::kWallTime);
    EXPECT_EQ(textsOf(ticks).back(), "14:02");
    const auto ended = placeTexts(ticks, {}, scale, metrics);
    EXPECT_EQ(ended.back().text, "14:03:35");
    EXPECT_NEAR(ended.back().x + metrics.horizontalAdvance("14:03:35"), 450, 5);
    for (const double part : {0.99, 0.6, 0.3, 0.01}) {
        const double now = low + part * 215'000;
        auto texts = placeTexts(ticks, {}, scale, metrics, now);
        const auto isNow = [](const TickText& text) { return text.text == "now"; };
        EXPECT_EQ(std::ranges::count_if(texts, isNow), part > 0.1 ? 1 : 0) << part;
        std::ranges::sort(texts, {}, &TickText::x);
        for (std::size_t i = 1; i < texts.size(); ++i) {
            EXPECT_GE(texts[i].x, texts[i - 1].x + metrics.horizontalAdvance(texts[i - 1].text))
                << part;
        }
    }
}

TEST(TickTexts, ATimeStandsThereRatherThanTheDateAlone) {
    const QDateTime start(QDate(2026, 11, 21), QTime(14, 0, 0));
    const double low = static_cast<double>(start.toMSecsSinceEpoch());
    const QFontMetricsF metrics{QFont()};
    PlotScale scale;
    scale.area = QRectF(0, 0, 4.2 * metrics.horizontalAdvance("21 Nov 2026"), 100);
    scale.x = {low - 10'000, low + 90'000};
    TickMarks ticks = axisTicks(scale.x.low, scale.x.high, 2, XAxis::kWallTime);
    ASSERT_EQ(textsOf(ticks).front(), "14:00");
    ticks.marks.resize(1);
    const auto texts = placeTexts(ticks, {}, scale, metrics, low + 80'000);
    QStringList shown;
    for (const TickText& text : texts) {
        shown << text.text;
    }
    EXPECT_TRUE(shown.contains("14:00")) << shown.join(", ").toStdString();
    EXPECT_TRUE(shown.contains("now"));
    EXPECT_FALSE(shown.contains("21 Nov 2026"));
}

TEST(TickTexts, DoNotOverlapInARangeOfASecond) {
    PlotScale scale;
    scale.area = QRectF(50, 0, 200, 100);
    const QFontMetricsF metrics{QFont()};
    for (double range = 100; range < 10'000; range *= 1.3) {
        scale.x = {1.7e12, 1.7e12 + range};
        TickMarks ticks = axisTicks(scale.x.low, scale.x.high, 4, XAxis::kWallTime);
        ticks.context.clear();
        auto texts = placeTexts(ticks, {}, scale, metrics);
        std::ranges::sort(texts, {}, &TickText::x);
        for (std::size_t i = 1; i < texts.size(); ++i) {
            EXPECT_GE(texts[i].x, texts[i - 1].x + metrics.horizontalAdvance(texts[i - 1].text))
                << range;
        }
    }
}

TEST(TickTexts, OtherAxesHaveTheirNameAtTheRight) {
    PlotScale scale;
    scale.area = QRectF(50, 0, 400, 100);
    scale.x = {0, 1'000};
    const auto texts =
        placeTexts(axisTicks(0, 1'000, 5, XAxis::kStep), "step", scale, QFontMetricsF{QFont()});
    ASSERT_GE(texts.size(), 3U);
    EXPECT_EQ(texts.front().text, "step");
    EXPECT_GT(texts.front().x, 400);
}

TEST(TickTexts, ANumberWhereTheNameStandsIsToldWithIt) {
    PlotScale scale;
    scale.area = QRectF(50, 0, 400, 100);
    scale.x = {0, 660};
    const QFontMetricsF metrics{QFont()};
    const auto texts = placeTexts(axisTicks(0, 660, 6, XAxis::kStep), "step", scale, metrics);
    ASSERT_GE(texts.size(), 3U);
    EXPECT_EQ(texts.front().text, "600 step");
    const double middle = texts.front().x + metrics.horizontalAdvance("600") / 2;
    EXPECT_NEAR(middle, scale.xToPixel(600), metrics.horizontalAdvance("600") / 2);
    EXPECT_EQ(texts.back().text, "400");
}

TEST(TickMarks, OfALogarithmicAxisNamePowersAndMarkWhatIsBetween) {
    const TickMarks ticks = logTicks(0.01, 100, 5, {});
    EXPECT_EQ(textsOf(ticks).filter(QRegularExpression("^.+$")),
              QStringList({"0.01", "0.1", "1", "10", "100"}));
    EXPECT_GT(ticks.marks.size(), 30U);
}

TEST(TickMarks, StayInsideTheRangeAndFewForAnyRange) {
    for (double width = 1e-9; width < 1e15; width *= 7.3) {
        for (const double low : {-width / 3, 0.0, width * 5}) {
            const TickMarks ticks = valueTicks(low, low + width, 6, {});
            EXPECT_GE(ticks.marks.size(), 2U) << width;
            EXPECT_LE(ticks.marks.size(), 7U) << width;
            for (const TickMark& mark : ticks.marks) {
                EXPECT_GE(mark.value, low - 1e-6 * width);
                EXPECT_LE(mark.value, low + width * (1 + 1e-6));
            }
        }
    }
}

TEST(ValueText, ReadsAsPeopleWriteIt) {
    EXPECT_EQ(valueText(0.48211, {}), "0.48211");
    EXPECT_EQ(valueText(static_cast<double>(0.1F), {}), "0.1");
    EXPECT_EQ(valueText(1'234'567, {UnitKind::kCount, "rows"}), "1,234,567 rows");
    EXPECT_EQ(valueText(1.5e-7, {}), "1.5e-7");
    EXPECT_EQ(valueText(kNoValue, {}), "n/a");
    EXPECT_EQ(valueText(1.5e6, {UnitKind::kBytes, {}}), "1.5 MB");
    EXPECT_EQ(valueText(0.4213, {UnitKind::kFraction, {}}), "42.13 %");
    EXPECT_EQ(shortText(1'234'567, {UnitKind::kCount, {}}), "1.23 M");
    EXPECT_EQ(durationLabel(850), "850 ms");
    EXPECT_EQ(durationLabel(12'300), "12.3 s");
    EXPECT_EQ(durationLabel(245'000), "4 m 05 s");
    EXPECT_EQ(durationLabel(7'500'000), "2 h 05 m");
    EXPECT_EQ(axisPlaceText(1200, XAxis::kStep), "step 1,200");
}

TEST(ValueText, ForCsvReadsBackToTheSameDouble) {
    for (const double value : {0.1, 1.0 / 3, 1e-300, 123456789.123456789, -0.0}) {
        EXPECT_EQ(exactText(value).toDouble(), value);
    }
    EXPECT_TRUE(exactText(kNoValue).isEmpty());
}

TEST(PlotScale, MapsPlacesToPixelsAndBack) {
    for (const bool isLog : {false, true}) {
        const PlotScale scale{QRectF(50, 20, 400, 200), {100, 300}, {0.1, 10}, isLog};
        EXPECT_DOUBLE_EQ(scale.xToPixel(200), 250);
        EXPECT_DOUBLE_EQ(scale.pixelToX(scale.xToPixel(137)), 137);
        EXPECT_DOUBLE_EQ(scale.yToPixel(0.1), 220);
    }
    const PlotScale log{QRectF(0, 0, 10, 200), {0, 1}, {0.1, 10}, true};
    EXPECT_DOUBLE_EQ(log.yToPixel(1), 100);
    EXPECT_GT(log.yToPixel(0), 1e4);
}

TEST(PlotScale, ZoomsAboutThePlaceUnderTheCursor) {
    const CurveRange range = zoomed({0, 100}, 0.5, 30);
    EXPECT_DOUBLE_EQ(range.low, 15);
    EXPECT_DOUBLE_EQ(range.high, 65);
    const CurveRange back = keptNear({-1e9, 1e9}, {0, 100});
    EXPECT_LE(back.high - back.low, 400);
}

TEST(PlotScale, GivesDataAirAndZeroWhereItIsNear) {
    EXPECT_EQ(yRangeFor({{10, 100}, false, {}, {}, {}}).low, 0);
    const CurveRange far = yRangeFor({{90, 100}, false, {}, {}, {}});
    EXPECT_GT(far.low, 80);
    EXPECT_GT(far.high, 100);
    EXPECT_FALSE(yRangeFor({{}, false, {}, {}, {}}).isEmpty());
    const CurveRange flat = yRangeFor({{5, 5}, false, {}, {}, {}});
    EXPECT_LT(flat.low, 5);
    EXPECT_GT(flat.high, 5);
    EXPECT_EQ(yRangeFor({{3, 40}, false, {}, 0.0, 100.0}), (CurveRange{0, 100}));
}

}  // namespace
}  // namespace millrace::gui
