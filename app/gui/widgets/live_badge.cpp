#include "app/gui/widgets/live_badge.h"

#include <QPainter>

#include "app/gui/widgets/theme.h"

namespace millrace::gui {

LiveBadge::LiveBadge(QWidget* parent) : QAbstractButton(parent) {
    setFocusPolicy(Qt::TabFocus);
    setCursor(Qt::PointingHandCursor);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
    setToolTip(tr("LIVE follows the newest values; a zoom or a drag freezes.  F follows again"));
    setAccessibleName(tr("Charts are live"));
}

BadgeLook LiveBadge::look() const {
    if (isAway_) {
        return {tr("OFFLINE"), Tone::kNeutral, Mark::kRing};
    }
    return isLive_ ? BadgeLook{tr("LIVE"), Tone::kGood, Mark::kDot}
                   : BadgeLook{tr("FROZEN  F"), Tone::kInfo, Mark::kDash};
}

void LiveBadge::setLive(bool isLive) {
    isLive_ = isLive;
    setAccessibleName(isLive ? tr("Charts are live") : tr("Charts are frozen; press to follow"));
    updateGeometry();
    update();
}

void LiveBadge::setAway(bool isAway) {
    if (isAway != isAway_) {
        isAway_ = isAway;
        updateGeometry();
        update();
    }
}

QSize LiveBadge::sizeHint() const {
    return badgeSize(look(), font()) + QSize(4, 4);
}

void LiveBadge::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(font());
    paintBadge(painter, rect().adjusted(2, 2, -2, -2), look(), palette());
    if (hasFocus()) {
        painter.setPen(QPen(colorsOf(palette()).accent, 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawRoundedRect(QRectF(rect()).adjusted(1, 1, -1, -1), kCornerRadius,
                                kCornerRadius);
    }
}

}  // namespace millrace::gui
