#include "app/gui/charts/plot_widget.h"

#include <QAccessible>
#include <QApplication>
#include <QImage>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QSignalSpy>
#include <QTest>
#include <QWheelEvent>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

#include "app/gui/charts/curve_layer.h"
#include "app/gui/charts/parts/line_dash.h"

namespace millrace::gui {
namespace {

const QColor kInk(0xd5, 0x5e, 0x00);

std::shared_ptr<CurveStore> flatStore(int numPoints, double y = 1) {
    auto store = std::make_shared<CurveStore>();
    std::vector<CurvePoint> points;
    for (int i = 0; i < numPoints; ++i) {
        points.push_back({static_cast<double>(i), y, i * 64.0, 1e12 + i * 1000.0});
    }
    store->append(points);
    return store;
}

Curve curveOf(const char* id, std::shared_ptr<const CurveStore> store, QColor color = kInk) {
    return {id, id, color, std::move(store)};
}

class PlotWidgetTest : public testing::Test {
 protected:
    void show(PlotWidget& plot, const std::shared_ptr<CurveStore>& store) {
        plot.resize(500, 240);
        plot.setTitle("loss");
        plot.setContent(Curves{{curveOf("a", store)}});
        plot.show();
        settle(plot);
    }
    static void settle(PlotWidget& plot) {
        QCoreApplication::sendPostedEvents();
        plot.grab();
    }
    static QPointF at(const PlotWidget& plot, double partX, double partY) {
        const QRectF area = plot.plotArea();
        return {area.left() + partX * area.width(), area.top() + partY * area.height()};
    }
    static void mouse(PlotWidget& plot, QEvent::Type type, const QPointF& where,
                      Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        const bool isMove = type == QEvent::MouseMove;
        QMouseEvent event(
            type, where, plot.mapToGlobal(where), isMove ? Qt::NoButton : Qt::LeftButton,
            type == QEvent::MouseButtonRelease ? Qt::NoButton : Qt::LeftButton, modifiers);
        QApplication::sendEvent(&plot, &event);
    }
    static void drag(PlotWidget& plot, double from, double to,
                     Qt::KeyboardModifiers modifiers = Qt::NoModifier) {
        mouse(plot, QEvent::MouseButtonPress, at(plot, from, 0.5), modifiers);
        mouse(plot, QEvent::MouseMove, at(plot, (from + to) / 2, 0.5), modifiers);
        mouse(plot, QEvent::MouseMove, at(plot, to, 0.5), modifiers);
        mouse(plot, QEvent::MouseButtonRelease, at(plot, to, 0.5), modifiers);
    }
    static bool hasInk(const QImage& image, const QRect& where) {
        for (int y = where.top(); y <= where.bottom(); ++y) {
            for (int x = where.left(); x <= where.right(); ++x) {
                const QColor pixel = image.pixelColor(x, y);
                if (std::abs(pixel.red() - kInk.red()) < 60 &&
                    std::abs(pixel.green() - kInk.green()) < 60 &&
                    std::abs(pixel.blue() - kInk.blue()) < 60) {
                    return true;
                }
            }
        }
        return false;
    }
};

TEST_F(PlotWidgetTest, PaintsASpikeOfOnePointInAHundredThousand) {
    auto store = std::make_shared<CurveStore>();
    std::vector<double> x, y;
    for (int i = 0; i < 100'000; ++i) {
        x.push_back(i);
        y.push_back(i == 61'803 ? 10.0 : 1 + 0.1 * std::sin(i));
    }
    store->adopt(x, y);
    PlotWidget plot;
    show(plot, store);
    const QImage image = plot.grabImage();
    const int column = static_cast<int>(plot.xToPixel(61'803));
    const int top = static_cast<int>(plot.yToPixel(10)), half = static_cast<int>(plot.yToPixel(5));
    EXPECT_TRUE(hasInk(image, QRect(column - 1, top - 1, 3, 4)));
    EXPECT_TRUE(hasInk(image, QRect(column - 1, half, 3, 2)));
    EXPECT_FALSE(hasInk(image, QRect(column - 40, half, 30, 2)));
}

TEST_F(PlotWidgetTest, LeavesGapsOpen) {
    auto store = std::make_shared<CurveStore>();
    std::vector<CurvePoint> points;
    for (int i = 0; i < 100; ++i) {
        points.push_back({static_cast<double>(i), i > 40 && i < 60 ? kNoValue : 1.0});
    }
    store->append(points);
    PlotWidget plot;
    show(plot, store);
    const QImage image = plot.grabImage();
    const int row = static_cast<int>(plot.yToPixel(1));
    const int left = static_cast<int>(plot.xToPixel(43)),
              right = static_cast<int>(plot.xToPixel(57));
    EXPECT_FALSE(hasInk(image, QRect(left, row - 3, right - left, 6)));
    EXPECT_TRUE(hasInk(image, QRect(static_cast<int>(plot.xToPixel(20)), row - 3, 5, 6)));
}

TEST_F(PlotWidgetTest, OverTimeALineEndsWhereNoPointCame) {
    for (const int numPoints : {60, 6'000}) {  // from points, from envelopes
        SCOPED_TRACE(numPoints);
        auto store = std::make_shared<CurveStore>();
        const double spanMs = 600'000;
        for (int i = 0; i < numPoints; ++i) {
            const double at = spanMs * i / numPoints;
            if (at < 0.4 * spanMs || at > 0.6 * spanMs) {
                const CurvePoint point{static_cast<double>(i), 1, kNoValue, 1e12 + at};
                store->append(std::span(&point, 1));
            }
        }
        PlotWidget plot;
        plot.link()->setXAxis(XAxis::kWallTime);
        show(plot, store);
        const auto inkIn = [&](double from, double to) {
            const int row = static_cast<int>(plot.yToPixel(1));
            const int left = static_cast<int>(at(plot, from, 0).x());
            return hasInk(plot.grabImage(),
                          QRect(left, row - 3, static_cast<int>(at(plot, to, 0).x()) - left, 6));
        };
        EXPECT_TRUE(inkIn(0.1, 0.3));
        EXPECT_FALSE(inkIn(0.45, 0.55)) << "nothing is known of this time";
        plot.link()->setView({1e12 + 0.3 * spanMs, 1e12 + 0.5 * spanMs});
        settle(plot);
        EXPECT_FALSE(inkIn(0.6, 0.95)) << "nor towards a point outside of the view";
        plot.link()->setXAxis(XAxis::kStep);
        plot.link()->fit();
        settle(plot);
        EXPECT_TRUE(inkIn(0.45, 0.55)) << "a step follows the one before";
    }
}

TEST_F(PlotWidgetTest, ShowsTheExactLoggedValuesOfAllLinkedChartsUnderTheCrosshair) {
    auto first = std::make_shared<CurveStore>(), second = std::make_shared<CurveStore>();
    for (int i = 0; i <= 1000; ++i) {
        const CurvePoint a{i * 10.0, std::sqrt(i)}, b{i * 10.0, std::log1p(i)};
        first->append(std::span(&a, 1));
        second->append(std::span(&b, 1));
    }
    ChartLink link;
    PlotWidget one, two;
    one.setLink(&link);
    two.setLink(&link);
    show(one, first);
    show(two, second);
    mouse(one, QEvent::MouseMove, {one.xToPixel(5000), at(one, 0, 0.5).y()});
    ASSERT_EQ(one.crosshairValues().size(), 1U);
    ASSERT_EQ(two.crosshairValues().size(), 1U);
    const CurvePoint point = one.crosshairValues()[0].point;
    EXPECT_NEAR(point.x, 5000, 20);
    EXPECT_EQ(point.y, std::sqrt(std::lround(point.x / 10)));
    EXPECT_EQ(two.crosshairValues()[0].point.y, std::log1p(std::lround(point.x / 10)));
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&one, &leave);
    EXPECT_TRUE(two.crosshairValues().empty());
}

TEST_F(PlotWidgetTest, LeavesTheCurvesFreeInChartsThatTheMouseIsNotOver) {
    ChartLink link;
    PlotWidget one, two;
    one.setLink(&link);
    two.setLink(&link);
    show(one, flatStore(100));
    show(two, flatStore(100));
    const QImage oneBefore = one.grab().toImage(), twoBefore = two.grab().toImage();
    mouse(one, QEvent::MouseMove, at(one, 0.3, 0.5));
    const QImage oneAfter = one.grab().toImage(), twoAfter = two.grab().toImage();
    // To the right of the line and its mark, where the box would be drawn.
    const QRect beside(two.plotArea().adjusted(0.3 * two.plotArea().width() + 8, 0, 0, 0).toRect());
    EXPECT_NE(oneBefore.copy(beside), oneAfter.copy(beside));
    EXPECT_EQ(twoBefore.copy(beside), twoAfter.copy(beside));
    const QRect header(0, 0, two.width(), static_cast<int>(two.plotArea().top()) - 8);
    EXPECT_NE(twoBefore.copy(header), twoAfter.copy(header)) << "the header shows its value";
    QEvent leave(QEvent::Leave);
    QApplication::sendEvent(&one, &leave);
    QTest::keyClick(&two, Qt::Key_Right, Qt::ControlModifier);
    ASSERT_TRUE(link.crosshair().has_value());
    EXPECT_NE(two.grab().toImage().copy(beside), twoBefore.copy(beside)) << "keys point as well";
}

TEST_F(PlotWidgetTest, AccompaniesOthersWithoutWideningTheirView) {
    ChartLink link;
    PlotWidget one, two;
    one.setLink(&link);
    two.setLink(&link);
    two.setLeading(false);
    show(one, flatStore(100));
    show(two, flatStore(1'000));
    EXPECT_EQ(link.extent().high, 99);
    two.setLeading(true);
    settle(two);
    EXPECT_EQ(link.extent().high, 999);
    two.setLeading(false);
    EXPECT_EQ(link.extent().high, 99);
}

TEST_F(PlotWidgetTest, FollowsTheNewestUntilAZoomFreezesItAndFFollowsAgain) {
    auto store = flatStore(1000);
    PlotWidget plot;
    show(plot, store);
    ASSERT_TRUE(plot.isLive());
    QSignalSpy live(plot.link(), &ChartLink::liveChanged);
    QWheelEvent wheel(at(plot, 0.5, 0.5), plot.mapToGlobal(at(plot, 0.5, 0.5)), {}, {0, 120},
                      Qt::NoButton, Qt::NoModifier, Qt::NoScrollPhase, false);
    const double under = plot.pixelToX(at(plot, 0.5, 0.5).x());
    QApplication::sendEvent(&plot, &wheel);
    settle(plot);
    EXPECT_FALSE(plot.isLive());
    ASSERT_EQ(live.size(), 1);
    EXPECT_NEAR(plot.pixelToX(at(plot, 0.5, 0.5).x()), under, 3);
    EXPECT_NEAR(plot.link()->view().high - plot.link()->view().low, 0.8 * 999, 1);
    const CurveRange frozen = plot.link()->view();
    const CurvePoint more[] = {{2000, 1}};
    store->append(more);
    plot.dataChanged();
    settle(plot);
    EXPECT_EQ(plot.link()->view(), frozen);
    QTest::keyClick(&plot, Qt::Key_F);
    settle(plot);
    EXPECT_TRUE(plot.isLive());
    EXPECT_GE(plot.link()->view().high, 2000);
}

TEST_F(PlotWidgetTest, KeepsALiveWindowAtTheNewestData) {
    auto store = flatStore(1000);
    PlotWidget plot;
    show(plot, store);
    plot.link()->setLiveWindow(100);
    const CurvePoint more[] = {{1500, 1}};
    store->append(more);
    plot.dataChanged();
    settle(plot);
    EXPECT_EQ(plot.link()->view(), (CurveRange{1400, 1500}));
}

TEST_F(PlotWidgetTest, MovesAllLinkedChartsTogether) {
    ChartLink link;
    PlotWidget one, two;
    one.setLink(&link);
    two.setLink(&link);
    show(one, flatStore(1000));
    show(two, flatStore(500));
    EXPECT_EQ(link.extent(), (CurveRange{0, 999}));
    drag(one, 0.5, 0.25);
    settle(two);
    EXPECT_FALSE(two.isLive());
    EXPECT_NEAR(two.pixelToX(two.plotArea().left()), 250, 5);
    QMouseEvent twice(QEvent::MouseButtonDblClick, at(two, 0.5, 0.5),
                      two.mapToGlobal(at(two, 0.5, 0.5)), Qt::LeftButton, Qt::LeftButton,
                      Qt::NoModifier);
    QApplication::sendEvent(&two, &twice);
    EXPECT_EQ(link.view(), (CurveRange{0, 999}));
}

TEST_F(PlotWidgetTest, WhatDoesNotLeadWidensNoAxisInSightOrOut) {
    ChartLink link;
    PlotWidget leading, machine;
    leading.setLink(&link);
    machine.setLink(&link);
    machine.setLeading(false);
    auto longer = flatStore(5'000);
    machine.setContent(Curves{{curveOf("cpu", longer)}});
    show(leading, flatStore(100));
    QCoreApplication::sendPostedEvents();  // nobody sees it
    EXPECT_EQ(link.extent(), (CurveRange{0, 99}));
    show(machine, longer);
    EXPECT_EQ(link.extent(), (CurveRange{0, 99}));
    EXPECT_EQ(link.view(), (CurveRange{0, 99}));
}

TEST_F(PlotWidgetTest, ALiveWindowBeginsNotBeforeTheData) {
    PlotWidget plot;
    show(plot, flatStore(30));
    plot.link()->setLiveWindow(600);
    settle(plot);
    EXPECT_EQ(plot.link()->view(), (CurveRange{0, 29}));
}

TEST_F(PlotWidgetTest, EveryDashIsDrawnInAWayOfItsOwn) {
    std::set<QByteArray> pictures;
    for (int dash = 0; dash < kNumLineDashes; ++dash) {
        PlotWidget plot;
        plot.resize(500, 240);
        Curve curve = curveOf("a", flatStore(1000));
        curve.dash = dash;
        plot.setContent(Curves{{curve}});
        plot.show();
        settle(plot);
        const QImage image = plot.grab().toImage().convertToFormat(QImage::Format_RGB32);
        pictures.insert(
            QByteArray(reinterpret_cast<const char*>(image.constBits()), image.sizeInBytes()));
    }
    EXPECT_EQ(pictures.size(), static_cast<std::size_t>(kNumLineDashes));
}

TEST_F(PlotWidgetTest, SelectsARangeWithShiftAndDrag) {
    PlotWidget plot;
    show(plot, flatStore(1000));
    QSignalSpy selected(&plot, &PlotWidget::rangeSelected);
    drag(plot, 0.2, 0.6, Qt::ShiftModifier);
    ASSERT_EQ(selected.size(), 1);
    EXPECT_NEAR(selected[0][0].toDouble(), 200, 5);
    EXPECT_NEAR(selected[0][1].toDouble(), 600, 5);
    EXPECT_TRUE(plot.isLive());
    QTest::keyClick(&plot, Qt::Key_Escape);
    EXPECT_FALSE(plot.link()->selection().has_value());
}

TEST_F(PlotWidgetTest, ObeysTheKeyboard) {
    PlotWidget plot;
    show(plot, flatStore(1000));
    QTest::keyClick(&plot, Qt::Key_Plus);
    const CurveRange view = plot.link()->view();
    EXPECT_LT(view.high - view.low, 900);
    QTest::keyClick(&plot, Qt::Key_Right);
    EXPECT_GT(plot.link()->view().low, view.low);
    QTest::keyClick(&plot, Qt::Key_Home);
    EXPECT_EQ(plot.link()->view(), (CurveRange{0, 999}));
    QTest::keyClick(&plot, Qt::Key_Right, Qt::ControlModifier);
    const double at = plot.link()->crosshair().value();
    QTest::keyClick(&plot, Qt::Key_Right, Qt::ControlModifier);
    EXPECT_EQ(plot.link()->crosshair().value(), at + 1);
    QTest::keyClick(&plot, Qt::Key_L);
    EXPECT_TRUE(plot.isLogY());
}

TEST_F(PlotWidgetTest, HidesACurveByItsLegendAndFitsTheOthers) {
    PlotWidget plot;
    plot.resize(500, 240);
    plot.setContent(Curves{{curveOf("a", flatStore(100, 1)), curveOf("b", flatStore(100, 1000))}});
    plot.show();
    settle(plot);
    EXPECT_GT(plot.yRange().high, 1000);
    QSignalSpy hidden(&plot, &PlotWidget::curveHiddenChanged);
    // Searches the second entry as a user would: from the left, in the row of the legend.
    for (int x = 30; x < 300 && hidden.isEmpty(); x += 4) {
        const QPointF where(x, plot.height() - 14);
        mouse(plot, QEvent::MouseMove, where);
        QSignalSpy highlighted(&plot, &PlotWidget::curveHighlighted);
        mouse(plot, QEvent::MouseMove, where + QPointF(1, 0));
        if (plot.cursor().shape() == Qt::PointingHandCursor && x > 50) {
            mouse(plot, QEvent::MouseButtonPress, where + QPointF(1, 0));
        }
    }
    ASSERT_EQ(hidden.size(), 1);
    EXPECT_EQ(hidden[0][0].toString(), "b");
    settle(plot);
    EXPECT_LT(plot.yRange().high, 10);
    plot.setContent(Curves{{curveOf("a", flatStore(100, 1)), curveOf("b", flatStore(100, 1000))}});
    EXPECT_TRUE(plot.isCurveHidden("b")) << "hidden curves stay hidden by id";
}

TEST_F(PlotWidgetTest, ChangesTheAxisForAllAndSaysWhenPointsLackIt) {
    PlotWidget plot;
    show(plot, flatStore(100));
    plot.setXAxis(XAxis::kRelativeTime);
    settle(plot);
    EXPECT_EQ(plot.link()->extent(), (CurveRange{0, 99'000}));
    plot.setXAxis(XAxis::kRows);
    settle(plot);
    EXPECT_EQ(plot.link()->extent(), (CurveRange{0, 99 * 64}));
    auto bare = std::make_shared<CurveStore>();
    const CurvePoint points[] = {{1, 1}, {2, 2}};
    bare->append(points);
    plot.setContent(Curves{{curveOf("a", bare)}});
    EXPECT_TRUE(plot.isEmpty());
}

TEST_F(PlotWidgetTest, TellsScreenReadersTheNewestValues) {
    PlotWidget plot;
    show(plot, flatStore(100, 0.25));
    EXPECT_EQ(plot.summary(), "loss: a 0.25 at step 99");
    QAccessibleInterface* reader = QAccessible::queryAccessibleInterface(&plot);
    ASSERT_NE(reader, nullptr);
    EXPECT_EQ(reader->text(QAccessible::Name), "loss");
    EXPECT_EQ(reader->text(QAccessible::Description), "loss: a 0.25 at step 99");
}

TEST_F(PlotWidgetTest, GivesTheVisiblePointsAsCsv) {
    PlotWidget plot;
    show(plot, flatStore(100, 0.1));
    plot.link()->setView({10, 11});
    EXPECT_EQ(plot.visibleCsv(),
              "curve,step,rows,time,value\na,10,640,2001-09-09T01:46:50.000Z,0.1\n"
              "a,11,704,2001-09-09T01:46:51.000Z,0.1\n");
}

TEST_F(PlotWidgetTest, IsTheSamePictureWhetherPointsCameAtOnceOrOneByOne) {
    auto grown = std::make_shared<CurveStore>(), whole = std::make_shared<CurveStore>();
    CurveLayer layer, fresh;
    layer.setCurves({curveOf("a", grown)});
    LayerGeometry geometry;
    geometry.columns = 200;
    geometry.rows = 80;
    geometry.binWidth = 5;
    geometry.y = {-1.2, 1.2};
    std::vector<CurvePoint> all;
    for (int i = 0; i < 900; ++i) {
        all.push_back({static_cast<double>(i), std::sin(i * 0.05) + 0.1 * std::sin(i * 3.0)});
        grown->append(std::span(&all.back(), 1));
        layer.update(geometry);
    }
    EXPECT_LT(layer.numColumnsDrawn(), 200U * 200U) << "appended points draw few columns";
    whole->append(all);
    fresh.setCurves({curveOf("a", whole)});
    fresh.update(geometry);
    EXPECT_EQ(layer.image(), fresh.image());
    geometry.firstBin = 7;
    const DirtyColumns moved = layer.update(geometry);
    CurveLayer anew;
    anew.setCurves({curveOf("a", whole)});
    anew.update(geometry);
    EXPECT_EQ(moved.from, 0);
    EXPECT_EQ(layer.image().copy(8, 0, 192, 80), anew.image().copy(8, 0, 192, 80));
}

TEST_F(PlotWidgetTest, SurvivesAStoreThatShrinksAndGrowsAgain) {
    auto store = flatStore(1000);
    PlotWidget plot;
    show(plot, store);
    store->dropAfter(100);
    plot.dataChanged();
    settle(plot);
    EXPECT_EQ(plot.link()->extent(), (CurveRange{0, 100}));
    store->clear();
    plot.dataChanged();
    settle(plot);
    EXPECT_TRUE(plot.isEmpty());
}

TEST_F(PlotWidgetTest, GoesOnWhenItsLinkGoesAway) {
    PlotWidget plot;
    auto link = std::make_unique<ChartLink>();
    plot.setLink(link.get());
    show(plot, flatStore(100));
    link.reset();
    settle(plot);
    EXPECT_EQ(plot.link()->extent(), (CurveRange{0, 99}));
}

}  // namespace
}  // namespace millrace::gui
