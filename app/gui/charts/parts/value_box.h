#pragma once
// The box beside the crosshair: its position, and each curve's logged value there.
//
// Threads: the GUI thread.
#include <QColor>
#include <QFont>
#include <QRectF>
#include <QString>
#include <optional>
#include <vector>

class QPainter;

namespace millrace::gui {

struct ChartColors;

struct ValueBoxRow {
    QColor color;
    QString name, value;
    QString detail;       ///< muted, after the value; may be empty
    double distance = 0;  ///< from the mouse: the nearest are kept if not all fit
    bool isHighlighted = false;
};
struct ValueBox {
    QString heading;
    std::vector<ValueBoxRow> rows;
};

/// Paints beside `anchor` inside `bounds`, on the side with more room. Counts rows that do not fit.
void paintValueBox(QPainter& painter, const QRectF& bounds, const QPointF& anchor, ValueBox box,
                   const ChartColors& colors, const QFont& font);

}  // namespace millrace::gui
