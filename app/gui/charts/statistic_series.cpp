#include "app/gui/charts/statistic_series.h"

#include <QAreaSeries>
#include <QBarSeries>
#include <QBarSet>
#include <QHorizontalBarSeries>
#include <QHorizontalStackedBarSeries>
#include <QLineSeries>
#include <QScatterSeries>
#include <QStackedBarSeries>
#include <QValueAxis>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/parts/plot_scale.h"
#include "app/gui/charts/parts/value_text.h"

namespace millrace::gui {
namespace {

constexpr double kBarWidth = 0.72;  // of a category
constexpr double kMarkerSize = 8;
constexpr double kTickHeight = 34, kTickWidth = 84;

std::unique_ptr<QChart> emptyChart() {
    auto chart = std::make_unique<QChart>();
    chart->setAnimationOptions(QChart::NoAnimation);
    chart->setBackgroundVisible(false);
    chart->setPlotAreaBackgroundVisible(false);
    chart->legend()->hide();
    chart->setMargins(QMargins(0, 0, 0, 0));
    chart->setContentsMargins(0, 0, 0, 0);
    return chart;
}

// The axis gives the range alone; grid and texts are painted by the widget, as PlotWidget does.
QValueAxis* addAxis(QChart& chart, Qt::Alignment side, const CurveRange& range) {
    auto* axis = new QValueAxis(&chart);
    axis->setRange(range.low, range.high);
    axis->setVisible(false);
    chart.addAxis(axis, side);
    return axis;
}

std::vector<AxisText> textsOf(const TickMarks& ticks) {
    std::vector<AxisText> texts;
    for (const TickMark& mark : ticks.marks) {
        texts.push_back({mark.value, mark.text});
    }
    return texts;
}

int numTicks(double length, double each) {
    return std::clamp(static_cast<int>(length / each), 2, 10);
}

struct Axes {
    CurveRange x, y;
    TickMarks xTicks, yTicks;
};

void addAxes(StatisticPlot& plot, const Axes& axes) {
    QValueAxis* x = addAxis(*plot.chart, Qt::AlignBottom, axes.x);
    QValueAxis* y = addAxis(*plot.chart, Qt::AlignLeft, axes.y);
    for (QAbstractSeries* series : plot.chart->series()) {
        series->attachAxis(x);
        series->attachAxis(y);
    }
}

QBarSet* barSet(const QString& name, const QColor& color, const std::vector<double>& values,
                int numCategories) {
    auto* set = new QBarSet(name);
    set->setColor(color);
    set->setPen(Qt::NoPen);
    for (int i = 0; i < numCategories; ++i) {
        const double value =
            static_cast<std::size_t>(i) < values.size() ? values[static_cast<std::size_t>(i)] : 0;
        set->append(std::isfinite(value) ? value : 0);
    }
    return set;
}

CurveRange barRange(const Bars& bars) {
    CurveRange range{0, 0};
    for (int i = 0; i < bars.categories.size(); ++i) {
        double above = 0, below = 0;
        for (const BarSeries& series : bars.series) {
            const auto at = static_cast<std::size_t>(i);
            const double value = at < series.values.size() ? series.values[at] : kNoValue;
            if (!std::isfinite(value)) {
                continue;
            }
            above = bars.isStacked ? above + std::max(0.0, value) : std::max(above, value);
            below = bars.isStacked ? below + std::min(0.0, value) : std::min(below, value);
        }
        range = {std::min(range.low, below), std::max(range.high, above)};
    }
    return range;
}

QAbstractBarSeries* barSeries(const Bars& bars) {
    if (bars.isHorizontal) {
        return bars.isStacked ? static_cast<QAbstractBarSeries*>(new QHorizontalStackedBarSeries)
                              : new QHorizontalBarSeries;
    }
    return bars.isStacked ? static_cast<QAbstractBarSeries*>(new QStackedBarSeries)
                          : new QBarSeries;
}

// Horizontal bars run upwards in Qt Charts: the first category goes to the top by mirrored places.
int placeOf(const Bars& bars, int category) {
    return bars.isHorizontal ? static_cast<int>(bars.categories.size()) - 1 - category : category;
}

StatisticPlot buildBars(const Bars& bars, const Unit& unit, const QSizeF& size) {
    StatisticPlot plot;
    plot.chart = emptyChart();
    plot.isYCategories = bars.isHorizontal;
    const auto numCategories = static_cast<int>(bars.categories.size());
    QAbstractBarSeries* series = barSeries(bars);
    series->setBarWidth(bars.series.size() > 1 && !bars.isStacked ? 0.8 : kBarWidth);
    for (const BarSeries& one : bars.series) {
        std::vector<double> values = one.values;
        values.resize(static_cast<std::size_t>(numCategories), kNoValue);
        if (bars.isHorizontal) {
            std::reverse(values.begin(), values.end());
        }
        series->append(barSet(one.name, one.color, values, numCategories));
        plot.legend.push_back({one.name, one.name, one.color});
    }
    plot.chart->addSeries(series);
    Axes axes;
    const CurveRange values = yRangeFor({barRange(bars), false, {}, {}, {}});
    const CurveRange places{-0.5, numCategories - 0.5};
    const double length = bars.isHorizontal ? size.width() : size.height();
    const TickMarks ticks =
        valueTicks(values.low, values.high,
                   numTicks(length, bars.isHorizontal ? kTickWidth : kTickHeight), unit);
    axes.x = bars.isHorizontal ? values : places;
    axes.y = bars.isHorizontal ? places : values;
    (bars.isHorizontal ? axes.xTicks : axes.yTicks) = ticks;
    addAxes(plot, axes);
    (bars.isHorizontal ? plot.xTexts : plot.yTexts) = textsOf(ticks);
    for (int i = 0; i < numCategories; ++i) {
        (bars.isHorizontal ? plot.yTexts : plot.xTexts)
            .push_back({static_cast<double>(placeOf(bars, i)), bars.categories[i]});
    }
    if (plot.legend.size() < 2) {
        plot.legend.clear();
    }
    return plot;
}

void addMarker(StatisticPlot& plot, const Histogram& histogram, double high,
               const ChartColors& colors) {
    auto* line = new QLineSeries;
    line->setPen(QPen(colors.text, 1.5, Qt::DashLine));
    line->append(*histogram.marker, 0);
    line->append(*histogram.marker, high);
    plot.chart->addSeries(line);
    plot.legend.push_back(
        {QStringLiteral("marker"), histogram.markerName, colors.text, false, true});
}

StatisticPlot buildHistogram(const Histogram& histogram, const Unit& unit, const QSizeF& size,
                             const ChartColors& colors) {
    StatisticPlot plot;
    plot.chart = emptyChart();
    const std::size_t numBins = std::min(histogram.counts.size(), histogram.edges.size() - 1);
    auto* outline = new QLineSeries(plot.chart.get());
    double most = 0;
    outline->append(histogram.edges.front(), 0);
    for (std::size_t i = 0; i < numBins; ++i) {
        outline->append(histogram.edges[i], histogram.counts[i]);
        outline->append(histogram.edges[i + 1], histogram.counts[i]);
        most = std::max(most, histogram.counts[i]);
    }
    outline->append(histogram.edges[numBins], 0);
    auto* area = new QAreaSeries(outline);
    QColor fill = histogram.color;
    fill.setAlphaF(0.4F);
    area->setBrush(fill);
    area->setPen(QPen(histogram.color, 1.2));
    plot.chart->addSeries(area);
    Axes axes;
    axes.x = {histogram.edges.front(), histogram.edges[numBins]};
    axes.y = yRangeFor({{0, most}, false, {}, 0.0, {}});
    if (histogram.marker) {
        addMarker(plot, histogram, axes.y.high, colors);
    }
    axes.xTicks = valueTicks(axes.x.low, axes.x.high, numTicks(size.width(), kTickWidth), unit);
    axes.yTicks = valueTicks(axes.y.low, axes.y.high, numTicks(size.height(), kTickHeight),
                             {UnitKind::kCount, {}});
    addAxes(plot, axes);
    plot.xTexts = textsOf(axes.xTicks);
    plot.yTexts = textsOf(axes.yTicks);
    return plot;
}

StatisticPlot buildScatter(const Scatter& scatter, const Unit& unit, const QSizeF& size,
                           const ChartColors& colors) {
    StatisticPlot plot;
    plot.chart = emptyChart();
    CurveRange x, y;
    for (const ScatterSeries& one : scatter.series) {
        auto* series = new QScatterSeries;
        QColor fill = one.color;
        fill.setAlphaF(0.85F);
        series->setColor(fill);
        series->setBorderColor(colors.background);
        series->setMarkerSize(kMarkerSize);
        for (const ScatterPoint& point : one.points) {
            if (std::isfinite(point.x) && std::isfinite(point.y)) {
                series->append(point.x, point.y);
                x = {std::min(x.low, point.x), std::max(x.high, point.x)};
                y = {std::min(y.low, point.y), std::max(y.high, point.y)};
            }
        }
        plot.chart->addSeries(series);
        plot.legend.push_back({one.name, one.name, one.color});
    }
    Axes axes;
    axes.x = yRangeFor({x, false, {}, {}, {}});
    axes.y = yRangeFor({y, false, {}, {}, {}});
    axes.xTicks =
        valueTicks(axes.x.low, axes.x.high, numTicks(size.width(), kTickWidth), scatter.xUnit);
    axes.yTicks = valueTicks(axes.y.low, axes.y.high, numTicks(size.height(), kTickHeight), unit);
    addAxes(plot, axes);
    plot.xTexts = textsOf(axes.xTicks);
    plot.yTexts = textsOf(axes.yTicks);
    if (plot.legend.size() < 2) {
        plot.legend.clear();
    }
    return plot;
}

StatisticPlot buildFunnel(const Funnel& funnel, const ChartColors& colors) {
    StatisticPlot plot;
    plot.chart = emptyChart();
    plot.isYCategories = true;
    const auto numSteps = static_cast<int>(funnel.steps.size());
    std::vector<double> kept, removed, added;
    double most = 1;
    for (auto step = funnel.steps.rbegin(); step != funnel.steps.rend(); ++step) {
        kept.push_back(std::min(step->rowsIn, step->rowsOut));
        removed.push_back(std::max(0.0, step->rowsIn - step->rowsOut));
        added.push_back(std::max(0.0, step->rowsOut - step->rowsIn));
        most = std::max({most, step->rowsIn, step->rowsOut});
    }
    const QColor removedColor = blended(colors.background, funnel.color, 0.28);
    const QColor addedColor(0xe6, 0x9f, 0x00);
    auto* series = new QHorizontalStackedBarSeries;
    series->setBarWidth(0.62);
    series->append(barSet(QStringLiteral("kept"), funnel.color, kept, numSteps));
    series->append(barSet(QStringLiteral("removed"), removedColor, removed, numSteps));
    series->append(barSet(QStringLiteral("added"), addedColor, added, numSteps));
    plot.chart->addSeries(series);
    Axes axes;
    axes.x = {0, most};
    axes.y = {-0.5, numSteps - 0.5};
    addAxes(plot, axes);
    plot.legend = {{QStringLiteral("kept"), QStringLiteral("rows kept"), funnel.color},
                   {QStringLiteral("removed"), QStringLiteral("removed"), removedColor}};
    if (std::any_of(added.begin(), added.end(), [](double rows) { return rows > 0; })) {
        plot.legend.push_back({QStringLiteral("added"), QStringLiteral("added"), addedColor});
    }
    for (int i = 0; i < numSteps; ++i) {
        plot.yTexts.push_back({static_cast<double>(numSteps - 1 - i),
                               funnel.steps[static_cast<std::size_t>(i)].name});
    }
    return plot;
}

// Where Qt Charts draws bar `set` of category `place`: side by side, or the whole width.
std::vector<HitArea> barAreas(const Bars& bars, const QChart& chart, const Unit& unit) {
    std::vector<HitArea> areas;
    const auto numSets = static_cast<double>(bars.series.size());
    const double all = bars.series.size() > 1 && !bars.isStacked ? 0.8 : kBarWidth;
    for (int i = 0; i < bars.categories.size(); ++i) {
        double base = 0;
        for (std::size_t j = 0; j < bars.series.size(); ++j) {
            const auto at = static_cast<std::size_t>(i);
            const std::vector<double>& values = bars.series[j].values;
            if (at >= values.size() || !std::isfinite(values[at])) {
                continue;
            }
            const double width = bars.isStacked ? all : all / numSets;
            const double start =
                placeOf(bars, i) - all / 2 + (bars.isStacked ? 0 : static_cast<double>(j) * width);
            const QPointF a(start, base), b(start + width, base + values[at]);
            const QPointF from = bars.isHorizontal ? placeInChart(chart, a.y(), a.x())
                                                   : placeInChart(chart, a.x(), a.y());
            const QPointF to = bars.isHorizontal ? placeInChart(chart, b.y(), b.x())
                                                 : placeInChart(chart, b.x(), b.y());
            areas.push_back({QRectF(from, to).normalized(),
                             bars.categories[i] + QLatin1Char('\n') + bars.series[j].name +
                                 QStringLiteral(": ") + valueText(values[at], unit)});
            base += bars.isStacked ? values[at] : 0;
        }
    }
    return areas;
}

std::vector<HitArea> histogramAreas(const Histogram& histogram, const QChart& chart,
                                    const Unit& unit) {
    std::vector<HitArea> areas;
    for (std::size_t i = 0; i < histogram.counts.size() && i + 1 < histogram.edges.size(); ++i) {
        const QPointF from = placeInChart(chart, histogram.edges[i], 0);
        const QPointF to = placeInChart(chart, histogram.edges[i + 1], histogram.counts[i]);
        areas.push_back(
            {QRectF(QPointF(from.x(), chart.plotArea().top()), QPointF(to.x(), from.y())),
             QStringLiteral("%1 from %2 to %3")
                 .arg(groupedText(histogram.counts[i], 0), valueText(histogram.edges[i], unit),
                      valueText(histogram.edges[i + 1], unit))});
    }
    return areas;
}

std::vector<HitArea> scatterAreas(const Scatter& scatter, const QChart& chart, const Unit& unit) {
    std::vector<HitArea> areas;
    for (const ScatterSeries& series : scatter.series) {
        for (const ScatterPoint& point : series.points) {
            const QPointF at = placeInChart(chart, point.x, point.y);
            const QString label = point.label.isEmpty() ? series.name : point.label;
            areas.push_back(
                {QRectF(at.x() - 6, at.y() - 6, 12, 12),
                 QStringLiteral("%1\n%2, %3")
                     .arg(label, valueText(point.x, scatter.xUnit), valueText(point.y, unit))});
        }
    }
    return areas;
}

std::vector<HitArea> funnelAreas(const Funnel& funnel, const QChart& chart) {
    std::vector<HitArea> areas;
    const auto numSteps = static_cast<double>(funnel.steps.size());
    const QRectF plot = chart.plotArea();
    for (std::size_t i = 0; i < funnel.steps.size(); ++i) {
        const FunnelStep& step = funnel.steps[i];
        const double height = plot.height() / numSteps;
        QString text = step.name + QLatin1Char('\n') + funnelText(step);
        if (!step.detail.isEmpty()) {
            text += QLatin1Char('\n') + step.detail;
        }
        areas.push_back(
            {QRectF(0, plot.top() + static_cast<double>(i) * height, 1e5, height), text});
    }
    return areas;
}

}  // namespace

StatisticPlot buildStatisticPlot(const ChartContent& content, const Unit& unit, const QSizeF& size,
                                 const ChartColors& colors) {
    if (const auto* bars = std::get_if<Bars>(&content)) {
        return buildBars(*bars, unit, size);
    }
    if (const auto* histogram = std::get_if<Histogram>(&content)) {
        return buildHistogram(*histogram, unit, size, colors);
    }
    if (const auto* scatter = std::get_if<Scatter>(&content)) {
        return buildScatter(*scatter, unit, size, colors);
    }
    const auto* funnel = std::get_if<Funnel>(&content);
    return buildFunnel(funnel != nullptr ? *funnel : Funnel{}, colors);
}

std::vector<HitArea> hitAreas(const ChartContent& content, const QChart& chart, const Unit& unit) {
    if (const auto* bars = std::get_if<Bars>(&content)) {
        return barAreas(*bars, chart, unit);
    }
    if (const auto* histogram = std::get_if<Histogram>(&content)) {
        return histogramAreas(*histogram, chart, unit);
    }
    if (const auto* scatter = std::get_if<Scatter>(&content)) {
        return scatterAreas(*scatter, chart, unit);
    }
    const auto* funnel = std::get_if<Funnel>(&content);
    return funnel != nullptr ? funnelAreas(*funnel, chart) : std::vector<HitArea>{};
}

QPointF placeInChart(const QChart& chart, double x, double y) {
    const auto range = [&chart](Qt::Orientation orientation) {
        const auto axes = chart.axes(orientation);
        const auto* axis = axes.isEmpty() ? nullptr : qobject_cast<QValueAxis*>(axes.front());
        return axis != nullptr ? CurveRange{axis->min(), axis->max()} : CurveRange{0, 1};
    };
    const PlotScale scale{chart.plotArea(), range(Qt::Horizontal), range(Qt::Vertical), false};
    return {scale.xToPixel(x), scale.yToPixel(y)};
}

QString funnelText(const FunnelStep& step) {
    const QString rows = QStringLiteral("%1 rows in, %2 out")
                             .arg(groupedText(step.rowsIn, 0), groupedText(step.rowsOut, 0));
    if (step.rowsIn <= 0 || step.rowsOut == step.rowsIn) {
        return rows;
    }
    const double change = (step.rowsOut - step.rowsIn) / step.rowsIn;
    return rows + QStringLiteral(" (%1 %2)")
                      .arg(valueText(std::abs(change), {UnitKind::kFraction, {}}),
                           change < 0 ? QStringLiteral("removed") : QStringLiteral("added"));
}

}  // namespace millrace::gui
