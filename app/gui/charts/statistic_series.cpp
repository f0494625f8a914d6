#include "app/gui/charts/statistic_series.h"

#include <QAreaSeries>
#include <QBarSet>
#include <QHorizontalStackedBarSeries>
#include <QLineSeries>
#include <QObject>
#include <QValueAxis>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/parts/plot_scale.h"
#include "app/gui/charts/parts/value_text.h"

namespace millrace::gui {
namespace {

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

// The axis provides only the range; the widget paints grid and texts, as PlotWidget does.
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

QBarSet* barSet(const QColor& color, const std::vector<double>& values) {
    auto* set = new QBarSet(QString());
    set->setColor(color);
    set->setPen(Qt::NoPen);
    for (const double value : values) {
        set->append(value);
    }
    return set;
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
    series->append(barSet(funnel.color, kept));
    series->append(barSet(removedColor, removed));
    series->append(barSet(addedColor, added));
    plot.chart->addSeries(series);
    Axes axes;
    axes.x = {0, most};
    axes.y = {-0.5, numSteps - 0.5};
    addAxes(plot, axes);
    plot.legend = {{QStringLiteral("kept"), QObject::tr("rows kept"), funnel.color},
                   {QStringLiteral("removed"), QObject::tr("removed"), removedColor}};
    if (std::ranges::any_of(added, [](double rows) { return rows > 0; })) {
        plot.legend.push_back({QStringLiteral("added"), QObject::tr("added"), addedColor});
    }
    for (int i = 0; i < numSteps; ++i) {
        plot.yTexts.push_back({static_cast<double>(numSteps - 1 - i),
                               funnel.steps[static_cast<std::size_t>(i)].name});
    }
    return plot;
}

std::vector<HitArea> histogramAreas(const Histogram& histogram, const QChart& chart,
                                    const Unit& unit) {
    std::vector<HitArea> areas;
    for (std::size_t i = 0; i < histogram.counts.size() && i + 1 < histogram.edges.size(); ++i) {
        const QPointF from = placeInChart(chart, histogram.edges[i], 0);
        const QPointF to = placeInChart(chart, histogram.edges[i + 1], histogram.counts[i]);
        areas.push_back(
            {QRectF(QPointF(from.x(), chart.plotArea().top()), QPointF(to.x(), from.y())),
             QObject::tr("%1 from %2 to %3")
                 .arg(groupedText(histogram.counts[i], 0), valueText(histogram.edges[i], unit),
                      valueText(histogram.edges[i + 1], unit))});
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
    if (const auto* histogram = std::get_if<Histogram>(&content)) {
        return buildHistogram(*histogram, unit, size, colors);
    }
    const auto* funnel = std::get_if<Funnel>(&content);
    return buildFunnel(funnel != nullptr ? *funnel : Funnel{}, colors);
}

std::vector<HitArea> hitAreas(const ChartContent& content, const QChart& chart, const Unit& unit) {
    if (const auto* histogram = std::get_if<Histogram>(&content)) {
        return histogramAreas(*histogram, chart, unit);
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
    const QString rows = QObject::tr("%1 rows in, %2 out")
                             .arg(groupedText(step.rowsIn, 0), groupedText(step.rowsOut, 0));
    if (step.rowsIn <= 0 || step.rowsOut == step.rowsIn) {
        return rows;
    }
    const double change = (step.rowsOut - step.rowsIn) / step.rowsIn;
    return rows + QStringLiteral(" (%1 %2)")
                      .arg(valueText(std::abs(change), {UnitKind::kFraction, {}}),
                           change < 0 ? QObject::tr("removed") : QObject::tr("added"));
}

}  // namespace millrace::gui
