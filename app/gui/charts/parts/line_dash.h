#pragma once
// The dash patterns, by number, that distinguish lines of one colour. Charts, legends and the chips
// of tables and lanes draw a number alike.
//
// Threads: any.
#include <QColor>
#include <QRectF>

class QPainter;

namespace millrace::gui {

/// Lengths of a dash and its gap in pixels; `off` 0 draws a solid line.
struct DashLengths {
    double on = 0, off = 0;
};
inline constexpr int kNumLineDashes = 8;
/// 0: solid; numbers beyond the last pattern wrap around.
DashLengths dashLengths(int dash);

/// Paints a sample of such a line that fills `rect` along its longer side.
void paintSwatch(QPainter& painter, const QRectF& rect, const QColor& color, int dash);

}  // namespace millrace::gui
