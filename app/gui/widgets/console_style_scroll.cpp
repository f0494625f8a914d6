#include <QPainter>
#include <QStyleOption>
#include <algorithm>

#include "app/gui/widgets/console_style.h"
#include "app/gui/widgets/console_style_parts.h"
#include "app/gui/widgets/theme_colors.h"

namespace millrace::gui {
namespace {

constexpr int kLeastHandle = 28, kHandleEdge = 2, kHandleRadius = 3;

}  // namespace

// Without arrow buttons: the handle can reach both ends.
QRect scrollHandle(const QStyleOptionSlider& option) {
    const bool isAcross = option.orientation == Qt::Horizontal;
    const QRect& all = option.rect;
    const int room = isAcross ? all.width() : all.height();
    const double range = static_cast<double>(option.maximum) - option.minimum;
    int length = room;
    if (range > 0) {
        const double share = option.pageStep / (range + option.pageStep);
        length = std::clamp(static_cast<int>(share * room), std::min(kLeastHandle, room), room);
    }
    const int at = QStyle::sliderPositionFromValue(
        option.minimum, option.maximum, option.sliderPosition, room - length, option.upsideDown);
    return isAcross ? QRect(all.left() + at, all.top(), length, all.height())
                    : QRect(all.left(), all.top() + at, all.width(), length);
}

void ConsoleStyle::drawScrollBar(const QStyleOptionSlider& option, QPainter& painter,
                                 const QWidget* widget) const {
    const ThemeColors& c = colorsOf(option.palette);
    const bool isTouched = (option.activeSubControls & SC_ScrollBarSlider) &&
                           (option.state & (State_MouseOver | State_Sunken));
    const QRect handle = proxy()->subControlRect(CC_ScrollBar, &option, SC_ScrollBarSlider, widget);
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(isTouched ? c.strongBorder : mixed(c.surface, c.text, 0.25));
    painter.drawRoundedRect(handle.adjusted(kHandleEdge, kHandleEdge, -kHandleEdge, -kHandleEdge),
                            kHandleRadius, kHandleRadius);
    painter.restore();
}

void drawSplitter(const QStyleOption& option, QPainter& painter) {
    if (option.state & (QStyle::State_MouseOver | QStyle::State_Sunken)) {
        painter.fillRect(option.rect, colorsOf(option.palette).selection);
    }
}

}  // namespace millrace::gui
