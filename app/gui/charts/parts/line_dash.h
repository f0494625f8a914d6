#pragma once
// How lines of one colour are told apart: whole or dashed, by a number. Charts, legends and the
// chips of tables and lanes draw a number alike.
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
/// 0: whole; a number beyond the last begins again at the first.
DashLengths dashLengths(int dash);

/// A piece of such a line that fills `rect` along its longer side.
void paintSwatch(QPainter& painter, const QRectF& rect, const QColor& color, int dash);

}  // namespace millrace::gui
