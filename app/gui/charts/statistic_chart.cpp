#include "app/gui/charts/statistic_chart.h"

#include <QFontMetricsF>
#include <QGraphicsLayout>
#include <QGraphicsScene>
#include <QHelpEvent>
#include <QPaintEvent>
#include <QPainter>
#include <QPixmap>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/chart_accessible.h"
#include "app/gui/charts/parts/chart_style.h"
#include "app/gui/charts/parts/value_text.h"
#include "app/gui/charts/statistic_series.h"

namespace millrace::gui {
namespace {

constexpr double kEdge = 10, kTitleHeight = 26, kFootHeight = 6;
constexpr double kNameShare = 0.34;  // of the width, for names on the left

struct EmptyCheck {
    bool operator()(const std::monostate&) const { return true; }
    // Curves are shown by PlotWidget.
    bool operator()(const Curves&) const { return true; }
    bool operator()(const Histogram& histogram) const {
        return histogram.edges.size() < 2 || histogram.counts.empty() ||
               !(histogram.edges.back() > histogram.edges.front());
    }
    bool operator()(const Funnel& funnel) const { return funnel.steps.empty(); }
};

ChartKind kindOf(const ChartContent& content) {
    return std::holds_alternative<Histogram>(content) ? ChartKind::kHistogram
           : std::holds_alternative<Funnel>(content)  ? ChartKind::kFunnel
                                                      : ChartKind::kCurves;
}

// RFC 4180, section 2.
QString quoted(const QString& text) {
    QString copy = text;
    return QLatin1Char('"') + copy.replace(QLatin1Char('"'), QStringLiteral("\"\"")) +
           QLatin1Char('"');
}

QString histogramCsv(const Histogram& histogram) {
    QString csv = QStringLiteral("from,to,count\n");
    for (std::size_t i = 0; i < histogram.counts.size() && i + 1 < histogram.edges.size(); ++i) {
        csv += exactText(histogram.edges[i]) + QLatin1Char(',') +
               exactText(histogram.edges[i + 1]) + QLatin1Char(',') +
               exactText(histogram.counts[i]) + QLatin1Char('\n');
    }
    return csv;
}

QString funnelCsv(const Funnel& funnel) {
    QString csv = QStringLiteral("step,rows_in,rows_out\n");
    for (const FunnelStep& step : funnel.steps) {
        csv += quoted(step.name) + QLatin1Char(',') + exactText(step.rowsIn) + QLatin1Char(',') +
               exactText(step.rowsOut) + QLatin1Char('\n');
    }
    return csv;
}

}  // namespace

struct StatisticChart::State {
    ChartKind kind;
    ChartContent content;
    QGraphicsScene scene;
    StatisticPlot plot;
    PlotLegend legend;
    std::vector<HitArea> hits;
    QRectF chartRect, legendRect;
    QPixmap image;
    bool isStale = true;

    explicit State(ChartKind chartKind) : kind(chartKind) {}
    ~State() { dropChart(); }
    void dropChart() {
        // The plot owns the chart: the scene must not delete it as well.
        if (plot.chart != nullptr) {
            scene.removeItem(plot.chart.get());
        }
        plot = StatisticPlot{};
    }
    void paintGrid(QPainter& painter, const ChartColors& colors) const;
    void paintTexts(QPainter& painter, const StatisticChart& widget) const;
    void paintFunnelTexts(QPainter& painter, const StatisticChart& widget) const;
    void paintNames(QPainter& painter, const QFontMetricsF& metrics) const;
    double leftMargin(const QFontMetricsF& metrics, double width) const;
};

StatisticChart::StatisticChart(ChartKind kind, QWidget* parent)
    : Chart(parent), s_(std::make_unique<State>(kind)) {
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Expanding);
    setFocusPolicy(Qt::TabFocus);
    setEmptyText(tr("Nothing to show yet."));
    installChartAccessibility();
}

StatisticChart::~StatisticChart() = default;

void StatisticChart::setContent(ChartContent content) {
    s_->content = std::move(content);
    dataChanged();
}

const ChartContent& StatisticChart::content() const {
    return s_->content;
}

void StatisticChart::dataChanged() {
    // Laid out at the next paint: several changes in a row cost one layout.
    s_->isStale = true;
    update();
}

bool StatisticChart::isEmpty() const {
    return kindOf(s_->content) != s_->kind || std::visit(EmptyCheck{}, s_->content);
}

QSize StatisticChart::minimumSizeHint() const {
    return {160, 96};
}

double StatisticChart::State::leftMargin(const QFontMetricsF& metrics, double width) const {
    double widest = 0;
    for (const AxisText& text : plot.yTexts) {
        widest = std::max(widest, metrics.horizontalAdvance(text.text));
    }
    const double most = plot.isYCategories ? kNameShare * width : 0.5 * width;
    return std::ceil(std::min(widest, most) + 10);
}

// Lays the chart out and paints everything into one image; repainting then only copies it.
void StatisticChart::rebuild() {
    State& s = *s_;
    s.isStale = false;
    s.dropChart();
    s.hits.clear();
    const ChartColors colors = ChartColors::of(palette());
    const QFont small = chartSmallFont(font());
    const QFontMetricsF metrics(small);
    const double ratio = devicePixelRatioF();
    s.image = QPixmap((QSizeF(size()) * ratio).toSize());
    s.image.setDevicePixelRatio(ratio);
    s.image.fill(colors.background);
    QPainter painter(&s.image);
    const QString unitText = unit().kind == UnitKind::kPlain || unit().kind == UnitKind::kCount
                                 ? unit().suffix
                                 : QString();
    const bool isUnitOnX = s.kind == ChartKind::kHistogram;
    paintChartTitle(painter, QRectF(kEdge, 3, width() - 2 * kEdge, kTitleHeight - 5), title(),
                    isUnitOnX ? yLabel() : unitText, colors, font());
    const QRectF body(0, kTitleHeight, width(), height() - kTitleHeight - kFootHeight);
    if (isEmpty() || body.height() < 30) {
        paintEmptyText(painter, body, emptyText(), colors, font());
        return;
    }
    s.plot = buildStatisticPlot(s.content, unit(), body.size(), colors);
    s.legend.place(s.plot.legend, width() - 2 * kEdge, 2, small);
    placeChart();
    s.paintGrid(painter, colors);
    painter.setRenderHint(QPainter::Antialiasing);
    s.scene.render(&painter, s.chartRect, s.chartRect);
    s.hits = hitAreas(s.content, *s.plot.chart, unit());
    painter.setFont(small);
    painter.setPen(colors.muted);
    s.paintTexts(painter, *this);
    painter.setRenderHint(QPainter::Antialiasing);
    s.legend.paint(painter, s.legendRect.topLeft(), {}, colors);
}

void StatisticChart::placeChart() {
    State& s = *s_;
    const QFontMetricsF metrics(chartSmallFont(font()));
    const double tickRow = s.kind == ChartKind::kFunnel ? 4 : metrics.height() + 6;
    const double legendHeight = s.legend.height() > 0 ? s.legend.height() + 2 : 0;
    const double left = kEdge + s.leftMargin(metrics, width());
    // A funnel's figures are on the right.
    const double right = s.kind == ChartKind::kFunnel
                             ? metrics.horizontalAdvance(QStringLiteral("88.8 M  -88.8 %")) + 12
                             : 14;
    const QRectF area(
        left, kTitleHeight + 2, std::max(20.0, width() - left - right - 4),
        std::max(20.0, height() - kTitleHeight - 2 - kFootHeight - tickRow - legendHeight));
    s.chartRect = QRectF(0, 0, width(), height());
    s.legendRect = QRectF(kEdge, height() - kFootHeight - s.legend.height(), width() - 2 * kEdge,
                          s.legend.height());
    s.scene.setSceneRect(s.chartRect);
    s.scene.addItem(s.plot.chart.get());
    s.plot.chart->resize(s.chartRect.size());
    s.plot.chart->setPlotArea(area);
    // Places in the chart are read right after this, for the grid and the texts.
    s.plot.chart->layout()->activate();
}

// Lines at the values of an axis; none at names.
void StatisticChart::State::paintGrid(QPainter& painter, const ChartColors& colors) const {
    const QRectF area = plot.chart->plotArea();
    const double ratio = painter.device()->devicePixelRatioF();
    // To the middle of a device pixel, where a line of one pixel is not blurred.
    const auto crisp = [ratio](double at) { return (std::floor(at * ratio) + 0.5) / ratio; };
    painter.setPen(QPen(colors.grid, 1 / ratio));
    for (const AxisText& text : plot.xTexts) {
        const double x = crisp(placeInChart(*plot.chart, text.value, 0).x());
        painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    }
    for (const AxisText& text : plot.yTexts) {
        const double y = crisp(placeInChart(*plot.chart, 0, text.value).y());
        if (!plot.isYCategories) {
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        }
    }
    painter.setPen(QPen(colors.axis, 1 / ratio));
    if (plot.isYCategories) {
        painter.drawLine(QPointF(crisp(area.left()), area.top()),
                         QPointF(crisp(area.left()), area.bottom()));
    } else {
        painter.drawLine(QPointF(area.left(), crisp(area.bottom())),
                         QPointF(area.right(), crisp(area.bottom())));
    }
}

void StatisticChart::State::paintNames(QPainter& painter, const QFontMetricsF& metrics) const {
    const QRectF area = plot.chart->plotArea();
    for (const AxisText& text : plot.yTexts) {
        const double y = placeInChart(*plot.chart, 0, text.value).y();
        const QString shown = plot.isYCategories ? metrics.elidedText(text.text, Qt::ElideMiddle,
                                                                      area.left() - kEdge - 8)
                                                 : text.text;
        painter.drawText(QRectF(0, y - metrics.height() / 2, area.left() - 7, metrics.height()),
                         Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip, shown);
    }
}

void StatisticChart::State::paintTexts(QPainter& painter, const StatisticChart& widget) const {
    const QFontMetricsF metrics(chartSmallFont(widget.font()));
    const QRectF area = plot.chart->plotArea();
    paintNames(painter, metrics);
    if (kind == ChartKind::kFunnel) {
        paintFunnelTexts(painter, widget);
        return;
    }
    const QString name = widget.xLabel();
    const double nameLeft = area.right() - (name.isEmpty() ? -20 : metrics.horizontalAdvance(name));
    const double baseline = area.bottom() + 4 + metrics.ascent();
    // The x at which the last text ended: a text that would overlap it, or the axis' name, is left
    // out.
    double free = -1e6;
    for (const AxisText& text : plot.xTexts) {
        const double width = metrics.horizontalAdvance(text.text);
        const double x = placeInChart(*plot.chart, text.value, 0).x() - width / 2;
        if (x > free && x + width < nameLeft - (name.isEmpty() ? 0 : 10)) {
            painter.drawText(QPointF(x, baseline), text.text);
            free = x + width + 2;
        }
    }
    painter.drawText(QPointF(nameLeft, baseline), name);
}

void StatisticChart::State::paintFunnelTexts(QPainter& painter,
                                             const StatisticChart& widget) const {
    const auto* funnel = std::get_if<Funnel>(&content);
    const ChartColors colors = ChartColors::of(widget.palette());
    const QFontMetricsF metrics(chartSmallFont(widget.font()));
    const QRectF area = plot.chart->plotArea();
    const auto numSteps = static_cast<int>(funnel->steps.size());
    for (int i = 0; i < numSteps; ++i) {
        const FunnelStep& step = funnel->steps[static_cast<std::size_t>(i)];
        // Categories of Qt Charts begin at the bottom.
        const double y = placeInChart(*plot.chart, 0, numSteps - 1 - i).y();
        const QRectF line(area.right() + 8, y - metrics.height() / 2,
                          widget.width() - area.right() - 8 - kEdge, metrics.height());
        const QString rows = shortText(step.rowsOut, {UnitKind::kCount, {}});
        painter.setPen(colors.text);
        painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, rows);
        const double change =
            step.rowsIn > 0 ? 100 * (step.rowsOut - step.rowsIn) / step.rowsIn : 0;
        const QString share = change == 0 ? QStringLiteral("all")
                                          : (change > 0 ? QStringLiteral("+") : QString()) +
                                                groupedText(change, std::abs(change) < 10 ? 1 : 0) +
                                                QStringLiteral(" %");
        painter.setPen(colors.muted);
        painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip, share);
    }
}

void StatisticChart::paintEvent(QPaintEvent*) {
    if (s_->isStale || s_->image.devicePixelRatio() != devicePixelRatioF()) {
        rebuild();
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, s_->image);
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(ChartColors::of(palette()).accent, 1.5));
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
    }
}

bool StatisticChart::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        // From the last one painted, which is on top.
        const auto hit = std::find_if(s_->hits.rbegin(), s_->hits.rend(), [&](const HitArea& area) {
            return area.rect.contains(help->pos());
        });
        const QString text = hit != s_->hits.rend()
                                 ? hit->text
                                 : s_->legend.toolTipAt(help->pos() - s_->legendRect.topLeft());
        QToolTip::showText(help->globalPos(), text, this);
        return true;
    }
    return Chart::event(event);
}

void StatisticChart::resizeEvent(QResizeEvent* event) {
    s_->isStale = true;
    Chart::resizeEvent(event);
}

void StatisticChart::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        dataChanged();
    }
    Chart::changeEvent(event);
}

QString StatisticChart::summary() const {
    const QString head = (title().isEmpty() ? tr("Chart") : title()) + QStringLiteral(": ");
    if (isEmpty()) {
        return head + emptyText();
    }
    if (const auto* funnel = std::get_if<Funnel>(&s_->content)) {
        QStringList steps;
        for (const FunnelStep& step : funnel->steps) {
            steps << step.name + QLatin1Char(' ') + funnelText(step);
        }
        return head + steps.join(QStringLiteral("; "));
    }
    const auto& histogram = std::get<Histogram>(s_->content);
    return head + tr("%1 bins from %2 to %3")
                      .arg(histogram.counts.size())
                      .arg(valueText(histogram.edges.front(), unit()),
                           valueText(histogram.edges.back(), unit()));
}

QString StatisticChart::visibleCsv() const {
    if (const auto* histogram = std::get_if<Histogram>(&s_->content)) {
        return histogramCsv(*histogram);
    }
    const auto* funnel = std::get_if<Funnel>(&s_->content);
    return funnel != nullptr ? funnelCsv(*funnel) : QString();
}

}  // namespace millrace::gui
