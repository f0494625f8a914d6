#include "app/gui/charts/parts/lane_paint.h"

#include <QFontMetricsF>
#include <QObject>
#include <QPainter>
#include <algorithm>
#include <array>
#include <cmath>

#include "app/gui/charts/parts/chart_style.h"

namespace millrace::gui {
namespace {

using Shares = std::array<double, kNumLanePhases>;

struct Columns {
    QRectF rect;
    double fromMs, columnMs, endMs;
    int numColumns;
    double columnWidth;
    double left(int column) const { return rect.left() + column * columnWidth; }
};

double endOf(const LaneSpan& span, double endMs) {
    return std::min(span.toMs, endMs);
}

// From bottom to top in the order of the phases: a column with several phases shows their shares.
void paintShares(QPainter& painter, const Columns& columns, int column, const Shares& shares,
                 const std::array<QColor, kNumLanePhases>& colors) {
    double bottom = columns.rect.bottom();
    for (std::size_t phase = 0; phase < shares.size(); ++phase) {
        const double height = columns.rect.height() * shares[phase] / columns.columnMs;
        if (height > 0) {
            painter.fillRect(
                QRectF(columns.left(column), bottom - height, columns.columnWidth, height),
                colors[phase]);
            bottom -= height;
        }
    }
}

Shares sharesOf(const std::vector<LaneSpan>& spans, std::size_t first, double from, double to,
                double endMs) {
    Shares shares{};
    for (std::size_t i = first; i < spans.size() && spans[i].fromMs < to; ++i) {
        const double overlap =
            std::min(to, endOf(spans[i], endMs)) - std::max(from, spans[i].fromMs);
        if (overlap > 0) {
            shares[static_cast<std::size_t>(spans[i].phase)] += overlap;
        }
    }
    return shares;
}

void paintColumns(QPainter& painter, const Columns& columns, const std::vector<LaneSpan>& spans,
                  const std::array<QColor, kNumLanePhases>& colors) {
    const auto start = std::partition_point(spans.begin(), spans.end(), [&](const LaneSpan& span) {
        return span.toMs <= columns.fromMs;
    });
    auto i = static_cast<std::size_t>(start - spans.begin());
    for (int column = 0; column < columns.numColumns;) {
        const double from = columns.fromMs + column * columns.columnMs;
        const double to = from + columns.columnMs;
        while (i < spans.size() && endOf(spans[i], columns.endMs) <= from) {
            ++i;
        }
        if (i == spans.size() || from >= columns.endMs) {
            return;
        }
        const double end = endOf(spans[i], columns.endMs);
        if (spans[i].fromMs <= from && end >= to) {
            const double whole = std::floor((end - columns.fromMs) / columns.columnMs);
            const int next =
                std::max(column + 1, static_cast<int>(std::min<double>(columns.numColumns, whole)));
            painter.fillRect(QRectF(columns.left(column), columns.rect.top(),
                                    (next - column) * columns.columnWidth, columns.rect.height()),
                             colors[static_cast<std::size_t>(spans[i].phase)]);
            column = next;
            continue;
        }
        paintShares(painter, columns, column, sharesOf(spans, i, from, to, columns.endMs), colors);
        ++column;
    }
}

void paintSpanNames(QPainter& painter, const Columns& columns, const std::vector<LaneSpan>& spans,
                    const std::array<QColor, kNumLanePhases>& colors) {
    const QFontMetricsF metrics(painter.font());
    const double pixelMs = columns.columnMs / columns.columnWidth;
    if (metrics.height() > columns.rect.height() + 2) {
        return;
    }
    for (const LaneSpan& span : spans) {
        const double left = std::max(
            columns.rect.left(), columns.rect.left() + (span.fromMs - columns.fromMs) / pixelMs);
        const double right =
            std::min(columns.rect.right(),
                     columns.rect.left() + (endOf(span, columns.endMs) - columns.fromMs) / pixelMs);
        if (right - left < 60) {
            continue;
        }
        const QString name = lanePhaseName(span.phase);
        if (metrics.horizontalAdvance(name) + 14 > right - left) {
            continue;
        }
        const QColor fill = colors[static_cast<std::size_t>(span.phase)];
        painter.setPen(fill.lightnessF() > 0.42 || fill.green() > 140 ? QColor(0x14, 0x18, 0x1c)
                                                                      : QColor(Qt::white));
        painter.drawText(
            QRectF(left + 7, columns.rect.top(), right - left - 7, columns.rect.height()),
            Qt::AlignVCenter | Qt::AlignLeft, name);
    }
}

}  // namespace

QColor lanePhaseColor(LanePhase phase, const QPalette& palette) {
    const QColor base = palette.color(QPalette::Base), text = palette.color(QPalette::Text);
    const bool isDark = base.lightnessF() < 0.5;
    switch (phase) {
        case LanePhase::kTraining:
            return isDark ? QColor(0x10, 0x93, 0x6f) : QColor(0x17, 0xa5, 0x7c);
        case LanePhase::kWaiting:
            return QColor(0xe6, 0x9f, 0x00);
        case LanePhase::kCheckpoint:
            return QColor(0x56, 0xb4, 0xe9);
        case LanePhase::kEvaluating:
            return QColor(0xcc, 0x79, 0xa7);
        case LanePhase::kStanding:
            return isDark ? QColor(0xe0, 0x4f, 0x48) : QColor(0xd0, 0x3c, 0x36);
        case LanePhase::kEnding:
            return QColor(0x00, 0x72, 0xb2);
        case LanePhase::kIdle:
            break;
    }
    return blended(base, text, isDark ? 0.30 : 0.24);
}

void paintLane(QPainter& painter, const QRectF& rect, const Lane& lane, double fromMs, double toMs,
               double nowMs, const QPalette& palette) {
    if (!(toMs > fromMs) || rect.width() < 2) {
        return;
    }
    const ChartColors style = ChartColors::of(palette);
    std::array<QColor, kNumLanePhases> colors;
    for (int phase = 0; phase < kNumLanePhases; ++phase) {
        colors[static_cast<std::size_t>(phase)] =
            lanePhaseColor(static_cast<LanePhase>(phase), palette);
    }
    const double ratio = painter.device() != nullptr ? painter.device()->devicePixelRatioF() : 1;
    Columns columns;
    columns.columnWidth = 1 / ratio;
    columns.rect =
        QRectF(std::round(rect.left() * ratio) / ratio, rect.top(), rect.width(), rect.height());
    columns.numColumns = static_cast<int>(std::floor(rect.width() * ratio));
    columns.fromMs = fromMs;
    columns.columnMs = (toMs - fromMs) / columns.numColumns;
    columns.endMs = std::min(lane.endedMs.value_or(nowMs), nowMs);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.fillRect(columns.rect, blended(style.background, style.text, 0.05));
    paintColumns(painter, columns, lane.spans, colors);
    paintSpanNames(painter, columns, lane.spans, colors);
    painter.restore();
}

}  // namespace millrace::gui
