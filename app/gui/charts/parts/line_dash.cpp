#include "app/gui/charts/parts/line_dash.h"

#include <QPainter>
#include <algorithm>

namespace millrace::gui {
namespace {

// Even entries are for runs, the odd entry after each for a second curve of the same run.
constexpr DashLengths kDashes[kNumLineDashes] = {{0, 0},  {6, 3},   {2.5, 2.5}, {2.5, 8},
                                                 {14, 4}, {14, 12}, {8, 8},     {8, 16}};
constexpr double kSwatchScale = 0.5;  // a chip is short, and so are its dashes

}  // namespace

DashLengths dashLengths(int dash) {
    return kDashes[static_cast<std::size_t>(std::max(0, dash)) % kNumLineDashes];
}

void paintSwatch(QPainter& painter, const QRectF& rect, const QColor& color, int dash) {
    const bool isFlat = rect.width() >= rect.height();
    const double length = isFlat ? rect.width() : rect.height();
    const double radius = std::min(rect.width(), rect.height()) / 2;
    const DashLengths lengths = dashLengths(dash);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    if (lengths.off <= 0) {
        painter.drawRoundedRect(rect, radius, radius);
        return;
    }
    const double on = lengths.on * kSwatchScale, off = lengths.off * kSwatchScale;
    for (double at = 0; at < length; at += on + off) {
        const double piece = std::min(on, length - at);
        const QRectF part = isFlat ? QRectF(rect.left() + at, rect.top(), piece, rect.height())
                                   : QRectF(rect.left(), rect.top() + at, rect.width(), piece);
        painter.drawRect(part);
    }
}

}  // namespace millrace::gui
