#pragma once
// Builds the QChart of a statistical chart: series, ranges and grid. StatisticChart paints the
// texts around it, so that they look like PlotWidget's. Only statistic_chart.cpp includes this.
//
// Threads: the GUI thread. Owns: nothing; the caller owns the chart.
#include <QChart>
#include <QRectF>
#include <memory>
#include <vector>

#include "app/gui/charts/parts/chart_content.h"
#include "app/gui/charts/parts/chart_style.h"
#include "app/gui/charts/parts/plot_legend.h"
#include "app/gui/charts/parts/tick_marks.h"

namespace millrace::gui {

/// A text at a position of an axis: a tick, or the middle of a step.
struct AxisText {
    double value = 0;
    QString text;
};
/// An area that the mouse can hit: a bin or step, in the chart's coordinates.
struct HitArea {
    QRectF rect;
    QString text;
};

struct StatisticPlot {
    std::unique_ptr<QChart> chart;
    std::vector<AxisText> xTexts, yTexts;
    std::vector<LegendEntry> legend;
    bool isYCategories = false;  ///< names on the left: a funnel
};

/// `size` decides how many ticks fit. The content must not be empty.
StatisticPlot buildStatisticPlot(const ChartContent& content, const Unit& unit, const QSizeF& size,
                                 const ChartColors& colors);
/// Call after the chart has its plot area.
std::vector<HitArea> hitAreas(const ChartContent& content, const QChart& chart, const Unit& unit);
/// Converts axis values to a position in the chart.
QPointF placeInChart(const QChart& chart, double x, double y);
/// "1,200,000 in, 900,000 out (25 % removed)".
QString funnelText(const FunnelStep& step);

}  // namespace millrace::gui
