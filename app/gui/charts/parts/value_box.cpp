#include "app/gui/charts/parts/value_box.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

#include "app/gui/charts/parts/chart_style.h"

namespace millrace::gui {
namespace {

constexpr double kPad = 8, kBoxChip = 8, kColumnGap = 14, kNameMax = 190, kAway = 12;

struct Sizes {
    double row = 0, name = 0, value = 0, detail = 0;
    double width() const {
        return 2 * kPad + kBoxChip + 6 + name + kColumnGap + value + (detail > 0 ? 6 + detail : 0);
    }
};

// Keeps the rows nearest to the mouse, in their order; returns how many were dropped.
std::size_t keepNearest(std::vector<ValueBoxRow>& rows, std::size_t numMax) {
    const std::size_t before = rows.size();
    while (rows.size() > numMax) {
        rows.erase(std::ranges::max_element(rows, [](const ValueBoxRow& a, const ValueBoxRow& b) {
            return a.distance < b.distance;
        }));
    }
    return before - rows.size();
}

Sizes measure(std::vector<ValueBoxRow>& rows, const QFontMetricsF& metrics) {
    Sizes sizes;
    sizes.row = metrics.height() + 2;
    for (ValueBoxRow& row : rows) {
        row.name = metrics.elidedText(row.name, Qt::ElideMiddle, kNameMax);
        sizes.name = std::max(sizes.name, metrics.horizontalAdvance(row.name));
        sizes.value = std::max(sizes.value, metrics.horizontalAdvance(row.value));
        sizes.detail = std::max(sizes.detail, metrics.horizontalAdvance(row.detail));
    }
    return sizes;
}

void paintFrame(QPainter& painter, const QRectF& rect, const ChartColors& colors) {
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(QColor(0, 0, 0, colors.isDark ? 70 : 22));
    painter.drawRoundedRect(rect.translated(0, 1.5).adjusted(-1, 0, 1, 1), 7, 7);
    QColor background = colors.box;
    background.setAlphaF(0.96F);
    painter.setPen(QPen(colors.boxBorder, 1));
    painter.setBrush(background);
    painter.drawRoundedRect(rect.adjusted(0.5, 0.5, -0.5, -0.5), 6, 6);
}

void paintRow(QPainter& painter, const QRectF& line, const ValueBoxRow& row, const Sizes& sizes,
              const ChartColors& colors) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(row.color);
    painter.drawRoundedRect(QRectF(line.left(), line.center().y() - 4, kBoxChip, kBoxChip), 2, 2);
    painter.setPen(row.isHighlighted ? colors.text : colors.muted);
    painter.drawText(line.adjusted(kBoxChip + 6, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft,
                     row.name);
    const double detail = sizes.detail > 0 ? 6 + sizes.detail : 0;
    painter.setPen(colors.text);
    painter.drawText(line.adjusted(0, 0, -detail, 0), Qt::AlignVCenter | Qt::AlignRight, row.value);
    painter.setPen(colors.muted);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignRight, row.detail);
}

}  // namespace

void paintValueBox(QPainter& painter, const QRectF& bounds, const QPointF& anchor, ValueBox box,
                   const ChartColors& colors, const QFont& font) {
    const QFontMetricsF metrics(font);
    const double rowHeight = metrics.height() + 2;
    const auto numFit = static_cast<std::size_t>(
        std::max(2.0, std::floor((bounds.height() - 2 * kPad - rowHeight) / rowHeight)));
    const std::size_t numLeftOut = box.rows.size() > numFit ? keepNearest(box.rows, numFit - 1) : 0;
    const Sizes sizes = measure(box.rows, metrics);
    const QString more = numLeftOut > 0 ? QStringLiteral("+ %1 more").arg(numLeftOut) : QString();
    const double numLines = static_cast<double>(box.rows.size()) + 1 + (numLeftOut > 0 ? 1 : 0);
    const double width = std::max(box.rows.empty() ? 0 : sizes.width(),
                                  metrics.horizontalAdvance(box.heading) + 2 * kPad);
    const double height = numLines * rowHeight + 2 * kPad - 4;
    double left = anchor.x() + kAway;
    if (left + width > bounds.right()) {
        left = anchor.x() - kAway - width;
    }
    left = std::clamp(left, bounds.left(), std::max(bounds.left(), bounds.right() - width));
    const double top = std::clamp(anchor.y() - height / 2, bounds.top(),
                                  std::max(bounds.top(), bounds.bottom() - height));
    const QRectF rect(std::round(left), std::round(top), std::ceil(width), std::ceil(height));
    painter.save();
    paintFrame(painter, rect, colors);
    painter.setFont(font);
    QRectF line(rect.left() + kPad, rect.top() + kPad - 2, rect.width() - 2 * kPad, rowHeight);
    painter.setPen(colors.muted);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, box.heading);
    for (const ValueBoxRow& row : box.rows) {
        line.translate(0, rowHeight);
        paintRow(painter, line, row, sizes, colors);
    }
    line.translate(0, rowHeight);
    painter.setPen(colors.muted);
    painter.drawText(line, Qt::AlignVCenter | Qt::AlignLeft, more);
    painter.restore();
}

}  // namespace millrace::gui
