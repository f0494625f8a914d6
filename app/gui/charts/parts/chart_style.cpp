#include "app/gui/charts/parts/chart_style.h"

#include <QFontMetricsF>
#include <QPainter>
#include <algorithm>
#include <cmath>

namespace millrace::gui {
namespace {

QFont scaledFont(const QFont& base, double factor) {
    QFont font = base;
    if (base.pointSizeF() > 0) {
        font.setPointSizeF(std::max(7.0, base.pointSizeF() * factor));
    } else {
        font.setPixelSize(std::max(9, static_cast<int>(std::lround(base.pixelSize() * factor))));
    }
    return font;
}

QFont badgeFont(const QFont& base) {
    QFont font = scaledFont(base, 0.78);
    font.setWeight(QFont::DemiBold);
    font.setLetterSpacing(QFont::AbsoluteSpacing, 0.6);
    return font;
}

constexpr double kBadgeMark = 14;  // width of the dot or the bars, with margins

}  // namespace

QColor blended(const QColor& a, const QColor& b, double part) {
    const auto mix = [part](float x, float y) {
        return static_cast<float>(x * (1 - part) + y * part);
    };
    return QColor::fromRgbF(mix(a.redF(), b.redF()), mix(a.greenF(), b.greenF()),
                            mix(a.blueF(), b.blueF()), mix(a.alphaF(), b.alphaF()));
}

ChartColors ChartColors::of(const QPalette& palette) {
    ChartColors colors;
    const QColor base = palette.color(QPalette::Base), text = palette.color(QPalette::Text);
    colors.isDark = base.lightnessF() < 0.5;
    colors.background = base;
    colors.text = text;
    colors.muted = blended(text, base, colors.isDark ? 0.36 : 0.38);
    colors.grid = blended(base, text, colors.isDark ? 0.10 : 0.09);
    colors.axis = blended(base, text, colors.isDark ? 0.26 : 0.28);
    colors.accent = palette.color(QPalette::Link);
    colors.live = colors.isDark ? QColor(0x2f, 0xc4, 0x97) : QColor(0x00, 0x7a, 0x59);
    colors.frozen = colors.isDark ? QColor(0x7c, 0xc4, 0xf2) : QColor(0x00, 0x5f, 0x9e);
    colors.box = colors.isDark ? blended(base, text, 0.07) : QColor(Qt::white);
    colors.boxBorder = blended(base, text, colors.isDark ? 0.24 : 0.22);
    return colors;
}

QFont chartSmallFont(const QFont& base) {
    return scaledFont(base, 0.86);
}

QFont chartTitleFont(const QFont& base) {
    QFont font = base;
    font.setWeight(QFont::DemiBold);
    return font;
}

double badgeWidth(const QFont& base) {
    return QFontMetricsF(badgeFont(base)).horizontalAdvance(QStringLiteral("FROZEN")) + kBadgeMark +
           8;
}

void paintLiveBadge(QPainter& painter, const QRectF& rect, bool isLive, const ChartColors& colors,
                    const QFont& base) {
    const QString text = isLive ? QStringLiteral("LIVE") : QStringLiteral("FROZEN");
    const QColor color = isLive ? colors.live : colors.frozen;
    const QFont font = badgeFont(base);
    const QFontMetricsF metrics(font);
    const double width = metrics.horizontalAdvance(text) + kBadgeMark + 6;
    const double height = metrics.height() + 2;
    const QRectF pill(rect.right() - width, rect.center().y() - height / 2, width, height);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(blended(colors.background, color, colors.isDark ? 0.18 : 0.12));
    painter.drawRoundedRect(pill, height / 2, height / 2);
    painter.setBrush(color);
    const double middle = pill.center().y();
    if (isLive) {
        painter.drawEllipse(QPointF(pill.left() + 8, middle), 2.6, 2.6);
    } else {
        painter.drawRect(QRectF(pill.left() + 5.5, middle - 3, 1.8, 6));
        painter.drawRect(QRectF(pill.left() + 9, middle - 3, 1.8, 6));
    }
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(pill.adjusted(kBadgeMark, 0, 0, 0), Qt::AlignVCenter | Qt::AlignLeft, text);
    painter.restore();
}

void paintEmptyText(QPainter& painter, const QRectF& rect, const QString& text,
                    const ChartColors& colors, const QFont& base) {
    painter.setFont(base);
    painter.setPen(colors.muted);
    painter.drawText(rect.adjusted(16, 4, -16, -4), Qt::AlignCenter | Qt::TextWordWrap, text);
}

double paintChartTitle(QPainter& painter, const QRectF& rect, const QString& title,
                       const QString& unit, const ChartColors& colors, const QFont& base) {
    const QFont titleFont = chartTitleFont(base), smallFont = chartSmallFont(base);
    const QFontMetricsF titleMetrics(titleFont), smallMetrics(smallFont);
    const QString shown = titleMetrics.elidedText(title, Qt::ElideMiddle, rect.width());
    painter.setFont(titleFont);
    painter.setPen(colors.text);
    painter.drawText(rect, Qt::AlignVCenter | Qt::AlignLeft, shown);
    double end = rect.left() + titleMetrics.horizontalAdvance(shown);
    const double left = rect.right() - end - 8;
    if (!unit.isEmpty() && left > 30) {
        const QString shownUnit = smallMetrics.elidedText(unit, Qt::ElideRight, left);
        painter.setFont(smallFont);
        painter.setPen(colors.muted);
        // Aligned with the title's baseline.
        const double baseline =
            rect.center().y() + (titleMetrics.ascent() - titleMetrics.descent()) / 2;
        painter.drawText(QPointF(end + 8, baseline), shownUnit);
        end += 8 + smallMetrics.horizontalAdvance(shownUnit);
    }
    return end;
}

}  // namespace millrace::gui
