#pragma once
// The state that a PlotWidget keeps between events. Shared by plot_widget.cpp (content, layout),
// plot_paint.cpp and plot_input.cpp; do not include it elsewhere.
#include <QDateTime>
#include <QPixmap>
#include <QPointer>
#include <QSet>
#include <cmath>
#include <optional>
#include <vector>

#include "app/gui/charts/curve_layer.h"
#include "app/gui/charts/parts/chart_link.h"
#include "app/gui/charts/parts/plot_legend.h"
#include "app/gui/charts/parts/plot_scale.h"
#include "app/gui/charts/parts/tick_marks.h"
#include "app/gui/charts/plot_widget.h"

namespace millrace::gui {

struct PlotWidget::State {
    enum class Drag { kNone, kPan, kSelect };

    ChartContent content;
    ChartLink ownLink;
    QPointer<ChartLink> link;

    CurveLayer layer;
    PlotLegend legend;
    PlotScale scale;
    LayerGeometry geometry;
    TickMarks xTicks, yTicks;
    QRectF legendRect, headerRect;
    QPixmap frame;
    bool isFrameStale = true;   // title, unit, ticks, legend: all but curves and overlays
    bool isLayoutStale = true;  // positions of all parts
    bool isSyncNeeded = true;   // data or view moved
    bool isSyncPosted = false;

    QSet<QString> hidden;
    QString highlighted;
    std::optional<double> yLow, yHigh;
    bool isLogY = false, isLegendVisible = true, isBadgeVisible = true;
    bool isLeading = true;  // its extent widens the view of all linked charts

    Drag drag = Drag::kNone;
    QPointF pressed;
    CurveRange pressedView;
    std::optional<QPointF> hover;  // the mouse over the plot
    bool isSteered = false;        // this chart's keys placed the crosshair
    double titleEnd = 0;
    std::optional<double> nowMs;  // the present moment as shown on a followed time axis

    /// Updates `nowMs` if it has moved by more than a few pixels; returns true if so.
    bool moveNow() {
        const auto now = static_cast<double>(QDateTime::currentMSecsSinceEpoch());
        const bool isSeen = link->xAxis() == XAxis::kWallTime && link->isLive() &&
                            now >= scale.x.low && now <= scale.x.high;
        const bool isSame = isSeen == nowMs.has_value() &&
                            (!isSeen || std::abs(scale.xToPixel(now) - scale.xToPixel(*nowMs)) < 6);
        nowMs = isSame ? nowMs : isSeen ? std::optional(now) : std::nullopt;
        return !isSame;
    }

    const std::vector<Curve>& curves() const {
        static const std::vector<Curve> kNone;
        const auto* curves = std::get_if<Curves>(&content);
        return curves != nullptr ? curves->curves : kNone;
    }
    bool isVisible(const Curve& curve) const { return !hidden.contains(curve.id); }
    CurveAxis axis() const { return storeAxis(link->xAxis()); }
    bool hasPoints() const;
    CurveRange extent() const;
    CurveRange wantedY(CurveRange& data) const;

    /// Updates layout, ranges and the curves' image; returns the area to repaint.
    QRect sync(PlotWidget& widget);
    void place(PlotWidget& widget);
    void placeLegend(PlotWidget& widget);
    void moveView();
    QRect dirtyRect(const DirtyColumns& dirty) const;

    void paintFrame(PlotWidget& widget);
    void paintGrid(QPainter& painter, const PlotWidget& widget) const;
    void paintTickTexts(QPainter& painter, const PlotWidget& widget) const;
    void paintSelection(QPainter& painter, const PlotWidget& widget) const;
    void paintCrosshair(QPainter& painter, const PlotWidget& widget) const;
    void paintBox(QPainter& painter, const PlotWidget& widget) const;
    void paintValues(QPainter& painter, const PlotWidget& widget) const;

    QString curveAt(const QPointF& position) const;
    std::optional<QString> legendAt(const QPointF& position) const;
    bool handleKey(PlotWidget& widget, int key, Qt::KeyboardModifiers modifiers);
    void stepCrosshair(int direction);
    void clickLegend(PlotWidget& widget, const QString& id, bool isAlone);
};

}  // namespace millrace::gui
