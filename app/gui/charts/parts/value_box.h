#pragma once
// The box beside the crosshair: where it stands, and the logged value of each curve there.
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
    QString detail;       ///< muted, behind the value; may be empty
    double distance = 0;  ///< from the mouse: the nearest stay where not all fit
    bool isHighlighted = false;
};
struct ValueBox {
    QString heading;
    std::vector<ValueBoxRow> rows;
};

/// Beside `anchor` inside `bounds`, on the side with more room. Rows that do not fit are counted.
void paintValueBox(QPainter& painter, const QRectF& bounds, const QPointF& anchor, ValueBox box,
                   const ChartColors& colors, const QFont& font);

}  // namespace millrace::gui
