#include "app/gui/scrolled_page.h"

#include <QEvent>
#include <QScrollBar>

namespace millrace::gui {

ScrolledPage::ScrolledPage(QWidget* page, QWidget* parent) : QScrollArea(parent) {
    setFrameShape(QFrame::NoFrame);
    setFocusPolicy(Qt::NoFocus);
    setWidget(page);
    viewport()->setAutoFillBackground(false);
    page->installEventFilter(this);
}

void ScrolledPage::resizeEvent(QResizeEvent* event) {
    fit();
    QScrollArea::resizeEvent(event);
}

bool ScrolledPage::eventFilter(QObject* watched, QEvent* event) {
    const bool isTaken = QScrollArea::eventFilter(watched, event);
    if (watched == widget() && event->type() == QEvent::LayoutRequest) {
        fit();
    }
    return isTaken;
}

void ScrolledPage::fit() {
    const QSize least = widget()->minimumSizeHint().expandedTo(widget()->minimumSize());
    QSize room = maximumViewportSize();
    // A scroll bar on one side takes space from the other.
    const bool isNarrow = least.width() > room.width();
    if (isNarrow) {
        room.rheight() -= horizontalScrollBar()->sizeHint().height();
    }
    if (least.height() > room.height()) {
        room.rwidth() -= verticalScrollBar()->sizeHint().width();
        if (!isNarrow && least.width() > room.width()) {
            room.rheight() -= horizontalScrollBar()->sizeHint().height();
        }
    }
    widget()->resize(room.expandedTo(least));
}

}  // namespace millrace::gui
