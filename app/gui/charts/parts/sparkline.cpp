#include "app/gui/charts/parts/sparkline.h"

#include <QPainter>
#include <QPainterPath>
#include <algorithm>
#include <cmath>

namespace millrace::gui {
namespace {

constexpr double kLineWidth = 1.3, kDotRadius = 2.0;

CurveRange rangeOf(std::span<const double> values, const CurveRange& bounds) {
    if (!bounds.isEmpty()) {
        return bounds;
    }
    CurveRange range;
    for (const double value : values) {
        if (std::isfinite(value)) {
            range = {std::min(range.low, value), std::max(range.high, value)};
        }
    }
    if (range.low == range.high) {
        range = {range.low - 1, range.high + 1};
    }
    return range;
}

struct Runs {
    std::vector<QPolygonF> lines;  // one per stretch without gaps
};

// If a pixel has several values: keeps the smallest and the largest, in their order.
void addReduced(QPolygonF& line, const QPointF& point) {
    const auto size = line.size();
    const bool isSameColumn = size >= 3 && std::floor(line[size - 3].x()) == std::floor(point.x());
    if (!isSameColumn) {
        line << point;
        return;
    }
    // The last three and this one share a column: drop the points between the extremes.
    QPointF kept[] = {line[size - 3], line[size - 2], line[size - 1], point};
    const auto byY = [](const QPointF& a, const QPointF& b) { return a.y() < b.y(); };
    const auto* least = std::min_element(std::begin(kept), std::end(kept), byY);
    const auto* greatest = std::max_element(std::begin(kept), std::end(kept), byY);
    line.resize(size - 3);
    for (const QPointF& one : kept) {
        if (&one == least || &one == greatest || &one == std::end(kept) - 1) {
            line << one;
        }
    }
}

Runs runsOf(std::span<const double> values, const QRectF& area, const CurveRange& range) {
    Runs runs;
    const auto last = static_cast<double>(std::max<std::size_t>(values.size(), 2) - 1);
    bool isOpen = false;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (!std::isfinite(values[i])) {
            isOpen = false;
            continue;
        }
        const double x = area.left() + area.width() * static_cast<double>(i) / last;
        const double part = (values[i] - range.low) / (range.high - range.low);
        const QPointF point(x, area.bottom() - std::clamp(part, 0.0, 1.0) * area.height());
        if (!isOpen) {
            runs.lines.emplace_back();
            isOpen = true;
        }
        addReduced(runs.lines.back(), point);
    }
    return runs;
}

}  // namespace

void paintSparkline(QPainter& painter, const QRectF& rect, std::span<const double> values,
                    const SparklineStyle& style) {
    const QRectF area = rect.adjusted(kDotRadius, kDotRadius + 1, -kDotRadius - 1, -kDotRadius - 1);
    const CurveRange range = rangeOf(values, style.bounds);
    if (values.empty() || range.isEmpty() || area.width() < 4 || area.height() < 2) {
        return;
    }
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    const Runs runs = runsOf(values, area, range);
    for (const QPolygonF& line : runs.lines) {
        if (style.fill.isValid() && line.size() > 1) {
            QPolygonF under = line;
            under << QPointF(line.back().x(), area.bottom() + 1)
                  << QPointF(line.front().x(), area.bottom() + 1);
            painter.setPen(Qt::NoPen);
            painter.setBrush(style.fill);
            painter.drawPolygon(under);
        }
        painter.setPen(QPen(style.line, kLineWidth, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter.setBrush(Qt::NoBrush);
        if (line.size() > 1) {
            painter.drawPolyline(line);
        } else {
            painter.drawPoint(line.front());
        }
    }
    if (style.hasLastDot && !runs.lines.empty()) {
        painter.setPen(Qt::NoPen);
        painter.setBrush(style.line);
        painter.drawEllipse(runs.lines.back().back(), kDotRadius, kDotRadius);
    }
    painter.restore();
}

}  // namespace millrace::gui
