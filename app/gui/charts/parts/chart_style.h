#pragma once
// The look of charts: colours from the palette (dark or light), two fonts, badge, empty text.
//
// Threads: the GUI thread.
#include <QColor>
#include <QFont>
#include <QPalette>
#include <QRectF>
#include <QString>

class QPainter;

namespace millrace::gui {

struct ChartColors {
    QColor background, text, muted, grid, axis, accent, live, frozen, box, boxBorder;
    bool isDark = false;
    static ChartColors of(const QPalette& palette);
};

/// Blends `part` of b into a.
QColor blended(const QColor& a, const QColor& b, double part);
QFont chartSmallFont(const QFont& base);
QFont chartTitleFont(const QFont& base);
/// The width of the LIVE and FROZEN badges.
double badgeWidth(const QFont& base);
/// LIVE with a filled dot, or FROZEN with two bars; right-aligned in rect.
void paintLiveBadge(QPainter& painter, const QRectF& rect, bool isLive, const ChartColors& colors,
                    const QFont& base);
/// Centred, wrapped, muted.
void paintEmptyText(QPainter& painter, const QRectF& rect, const QString& text,
                    const ChartColors& colors, const QFont& base);
/// Title and unit in one line, elided; returns the x where the text ends.
double paintChartTitle(QPainter& painter, const QRectF& rect, const QString& title,
                       const QString& unit, const ChartColors& colors, const QFont& base);

}  // namespace millrace::gui
