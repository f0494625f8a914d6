#include <QFontMetricsF>
#include <QPaintEvent>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/parts/chart_style.h"
#include "app/gui/charts/parts/tick_texts.h"
#include "app/gui/charts/parts/value_box.h"
#include "app/gui/charts/parts/value_text.h"
#include "app/gui/charts/plot_state.h"

namespace millrace::gui {
namespace {

constexpr double kTickTextGap = 6;
constexpr double kMark = 6, kMarkGap = 4, kValueGap = 10;

// The centre of a device pixel, so that hairlines are one pixel wide.
double crisp(double value, double ratio) {
    return (std::floor(value * ratio) + 0.5) / ratio;
}

QString headerUnit(const PlotWidget& widget) {
    QStringList parts;
    if (!widget.yLabel().isEmpty()) {
        parts << widget.yLabel();
    }
    if (widget.unit().kind == UnitKind::kPlain || widget.unit().kind == UnitKind::kCount) {
        parts << widget.unit().suffix;
    }
    if (widget.isLogY()) {
        parts << QStringLiteral("log");
    }
    parts.removeAll(QString());
    return parts.join(QStringLiteral(" · "));
}

QString spanText(double from, double to, XAxis axis) {
    switch (axis) {
        case XAxis::kStep:
            return QStringLiteral("%1 steps").arg(groupedText(std::floor(to) - std::ceil(from), 0));
        case XAxis::kRows:
            return QStringLiteral("%1 rows").arg(groupedText(to - from, 0));
        case XAxis::kRelativeTime:
        case XAxis::kWallTime:
            break;
    }
    return durationLabel(to - from);
}

}  // namespace

void PlotWidget::State::paintGrid(QPainter& painter, const PlotWidget& widget) const {
    const ChartColors colors = ChartColors::of(widget.palette());
    const double ratio = geometry.scale, hair = 1 / ratio;
    const QRectF area = scale.area;
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(colors.grid, hair));
    for (const TickMark& mark : yTicks.marks) {
        const double y = crisp(scale.yToPixel(mark.value), ratio);
        if (!mark.text.isEmpty() && y > area.top() - 1 && y < area.bottom()) {
            painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
        }
    }
    for (const TickMark& mark : xTicks.marks) {
        const double x = crisp(scale.xToPixel(mark.value), ratio);
        if (x > area.left() && x < area.right()) {
            painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
        }
    }
    painter.setPen(QPen(colors.axis, hair));
    const double bottom = crisp(area.bottom(), ratio);
    painter.drawLine(QPointF(area.left(), bottom), QPointF(area.right(), bottom));
}

void PlotWidget::State::paintTickTexts(QPainter& painter, const PlotWidget& widget) const {
    const ChartColors colors = ChartColors::of(widget.palette());
    const QFont font = chartSmallFont(widget.font());
    const QFontMetricsF metrics(font);
    const QRectF area = scale.area;
    painter.setFont(font);
    painter.setPen(colors.muted);
    for (const TickMark& mark : yTicks.marks) {
        const double y = scale.yToPixel(mark.value);
        painter.drawText(
            QRectF(0, y - metrics.height() / 2, area.left() - kTickTextGap, metrics.height()),
            Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip, mark.text);
    }
    const QString label = widget.xLabel().isEmpty() ? axisName(link->xAxis()) : widget.xLabel();
    const double row = area.bottom() + 3;
    for (const TickText& text : placeTexts(xTicks, label, scale, metrics, nowMs)) {
        painter.drawText(QPointF(text.x, row + metrics.ascent() + 1), text.text);
    }
}

void PlotWidget::State::paintFrame(PlotWidget& widget) {
    const double ratio = geometry.scale;
    const QSize size(static_cast<int>(std::ceil(widget.width() * ratio)),
                     static_cast<int>(std::ceil(widget.height() * ratio)));
    if (frame.size() != size) {
        frame = QPixmap(size);
    }
    frame.setDevicePixelRatio(ratio);
    const ChartColors colors = ChartColors::of(widget.palette());
    frame.fill(colors.background);
    QPainter painter(&frame);
    const double badge = isBadgeVisible ? badgeWidth(widget.font()) + 8 : 0;
    titleEnd = paintChartTitle(painter, headerRect.adjusted(0, 0, -badge, 0), widget.title(),
                               headerUnit(widget), colors, widget.font());
    if (hasPoints()) {
        paintGrid(painter, widget);
        paintTickTexts(painter, widget);
    } else {
        const bool isOnlyAxisMissing = std::ranges::any_of(
            curves(), [](const Curve& curve) { return !curve.store->isEmpty(); });
        const QString text =
            isOnlyAxisMissing
                ? PlotWidget::tr("These points were logged without %1. Choose another x axis.")
                      .arg(link->xAxis() == XAxis::kRows ? PlotWidget::tr("rows")
                                                         : PlotWidget::tr("times"))
                : widget.emptyText();
        paintEmptyText(painter, scale.area, text, colors, widget.font());
    }
    painter.setRenderHint(QPainter::Antialiasing);
    legend.paint(painter, legendRect.topLeft(), highlighted, colors);
    isFrameStale = false;
}

void PlotWidget::State::paintSelection(QPainter& painter, const PlotWidget& widget) const {
    const std::optional<CurveRange> range = link->selection();
    if (!range) {
        return;
    }
    const ChartColors colors = ChartColors::of(widget.palette());
    const QRectF area = scale.area;
    const double left = std::clamp(scale.xToPixel(range->low), area.left(), area.right());
    const double right = std::clamp(scale.xToPixel(range->high), area.left(), area.right());
    if (right <= left) {
        return;
    }
    QColor fill = colors.accent;
    fill.setAlphaF(0.16F);
    painter.fillRect(QRectF(left, area.top(), right - left, area.height()), fill);
    painter.setPen(QPen(colors.accent, 1));
    painter.drawLine(QPointF(left, area.top()), QPointF(left, area.bottom()));
    painter.drawLine(QPointF(right, area.top()), QPointF(right, area.bottom()));
    const QString text = spanText(range->low, range->high, link->xAxis());
    const QFont font = chartSmallFont(widget.font());
    if (QFontMetricsF(font).horizontalAdvance(text) + 8 < right - left) {
        painter.setFont(font);
        painter.setPen(colors.text);
        painter.drawText(QRectF(left, area.top() + 2, right - left, 20), Qt::AlignHCenter, text);
    }
}

void PlotWidget::State::paintCrosshair(QPainter& painter, const PlotWidget& widget) const {
    const std::optional<double> at = link->crosshair();
    const QRectF area = scale.area;
    if (!at || *at < scale.x.low || *at > scale.x.high) {
        return;
    }
    const ChartColors colors = ChartColors::of(widget.palette());
    const double x = crisp(scale.xToPixel(*at), geometry.scale);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(QPen(colors.muted, 1 / geometry.scale, Qt::SolidLine));
    painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom()));
    painter.setRenderHint(QPainter::Antialiasing);
    for (const CrosshairValue& value : widget.crosshairValues()) {
        const QPointF place(scale.xToPixel(value.x),
                            scale.yToPixel(value.smoothed.value_or(value.point.y)));
        if (area.adjusted(-1, -1, 1, 1).contains(place)) {
            painter.setPen(QPen(colors.background, 1.5));
            painter.setBrush(value.color);
            painter.drawEllipse(place, 3.6, 3.6);
        }
    }
    // Charts linked to the hovered one keep their curves uncovered.
    if (hover || isSteered) {
        paintBox(painter, widget);
    } else {
        paintValues(painter, widget);
    }
}

// Paints a mark and the value of each curve at the right of the header, as many as fit.
void PlotWidget::State::paintValues(QPainter& painter, const PlotWidget& widget) const {
    const ChartColors colors = ChartColors::of(widget.palette());
    const QFont font = chartSmallFont(widget.font());
    const QFontMetricsF metrics(font);
    const double badge = isBadgeVisible ? badgeWidth(widget.font()) + 8 : 0;
    const double left = titleEnd + 12;
    double right = headerRect.right() - badge;
    const std::vector<CrosshairValue> values = widget.crosshairValues();
    std::size_t numFit = 0;
    double width = 0;
    QStringList texts;
    for (const CrosshairValue& value : values) {
        const Unit unit{widget.unit().kind, {}};
        texts << shortText(value.point.y, unit);
        width += kMark + kMarkGap + metrics.horizontalAdvance(texts.back()) + kValueGap;
        numFit += width - kValueGap <= right - left ? 1 : 0;
    }
    painter.setFont(font);
    for (std::size_t i = numFit; i-- > 0;) {
        const QString& text = texts[static_cast<qsizetype>(i)];
        const double textWidth = metrics.horizontalAdvance(text);
        painter.setPen(colors.text);
        painter.drawText(
            QRectF(right - textWidth, headerRect.top(), textWidth, headerRect.height()),
            Qt::AlignVCenter | Qt::AlignLeft | Qt::TextDontClip, text);
        right -= textWidth + kMarkGap + kMark;
        painter.setPen(Qt::NoPen);
        painter.setBrush(values[i].color);
        painter.drawEllipse(QPointF(right + kMark / 2, headerRect.center().y()), kMark / 2,
                            kMark / 2);
        right -= kValueGap;
    }
}

void PlotWidget::State::paintBox(QPainter& painter, const PlotWidget& widget) const {
    const double at = link->crosshair().value_or(0);
    const std::vector<CrosshairValue> values = widget.crosshairValues();
    const double middle = hover ? hover->y() : scale.area.center().y();
    ValueBox box;
    // If all points are at the same position, shows that position, not the mouse's.
    const bool isShared = !values.empty() && std::ranges::all_of(values, [&](const auto& value) {
        return value.x == values.front().x;
    });
    const double place = isShared ? values.front().x : at;
    box.heading = axisPlaceText(place, link->xAxis());
    // Curves of machines have the time instead of a step.
    const bool hasStep = isShared && values.front().point.x != place;
    if (hasStep && link->xAxis() != XAxis::kStep) {
        box.heading +=
            QStringLiteral("  ·  ") + axisPlaceText(values.front().point.x, XAxis::kStep);
    }
    for (const CrosshairValue& value : values) {
        ValueBoxRow row;
        row.color = value.color;
        row.name = value.name;
        row.value = valueText(value.point.y, widget.unit());
        if (value.smoothed) {
            row.detail =
                QStringLiteral("≈ ") + shortText(*value.smoothed, Unit{widget.unit().kind, {}});
        } else if (!isShared &&
                   std::abs(value.x - at) * geometry.columns > 8 * (scale.x.high - scale.x.low)) {
            row.detail = PlotWidget::tr("at %1").arg(axisPlaceText(value.x, link->xAxis()));
        }
        if (!value.ranks.isEmpty()) {
            row.detail = value.ranks;
        }
        row.distance = std::abs(scale.yToPixel(value.point.y) - middle);
        row.isHighlighted = value.id == highlighted;
        box.rows.push_back(std::move(row));
    }
    const QPointF anchor(scale.xToPixel(at), middle);
    const QRectF bounds = QRectF(widget.rect()).adjusted(4, 4, -4, -4);
    paintValueBox(painter, bounds, anchor, std::move(box), ChartColors::of(widget.palette()),
                  chartSmallFont(widget.font()));
}

void PlotWidget::paintEvent(QPaintEvent* event) {
    if (s_->isSyncNeeded || s_->geometry.scale != devicePixelRatioF()) {
        s_->sync(*this);
    }
    if (s_->isFrameStale) {
        s_->paintFrame(*this);
    }
    QPainter painter(this);
    const double ratio = s_->geometry.scale;
    const QRect clip = event->rect();
    const auto deviceRect = [ratio](const QRectF& rect, const QPointF& origin) {
        return QRectF((rect.topLeft() - origin) * ratio, rect.size() * ratio);
    };
    painter.drawPixmap(clip, s_->frame, deviceRect(clip, {0, 0}).toAlignedRect());
    const QRectF curves = s_->scale.area.intersected(clip);
    if (!curves.isEmpty() && s_->hasPoints()) {
        painter.drawImage(curves, s_->layer.image(), deviceRect(curves, s_->scale.area.topLeft()));
    }
    const ChartColors colors = ChartColors::of(palette());
    if (s_->isBadgeVisible && s_->hasPoints() && clip.top() < s_->headerRect.bottom()) {
        paintLiveBadge(painter, s_->headerRect, isLive(), colors, font());
    }
    if (s_->hasPoints()) {
        s_->paintSelection(painter, *this);
        s_->paintCrosshair(painter, *this);
    }
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(colors.accent, 1.5));
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), 4, 4);
    }
}

}  // namespace millrace::gui
