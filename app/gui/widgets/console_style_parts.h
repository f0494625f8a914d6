#pragma once
// Shared by ConsoleStyle's files: boxes, and the kind of frame that a widget has.
//
// Threads: the GUI thread.
#include <QColor>
#include <QRect>
#include <QSize>
#include <QStyleOption>

class QPainter;
class QWidget;

namespace millrace::gui {

inline constexpr int kControlHeight = 28, kCheckSize = 16, kControlRadius = 5;

/// A rounded box with a line of `width` inside its edge.
void drawBox(QPainter& painter, const QRectF& rect, const QColor& ground, const QColor& line,
             double width = 1);
/// The box of a field or combo box: its line shows focus and hover.
void drawFieldBox(QPainter& painter, const QStyleOption& option, const QColor& ground);
QRectF centredIn(const QRect& rect, double size);

void drawCheckBox(const QStyleOption& option, QPainter& painter);
QSize pushButtonSize(const QSize& contents);
QSize toolButtonSize(const QSize& contents);

/// A selected row has a pale background; the palette's Highlight is for selected text.
QStyleOptionViewItem quietRow(const QStyleOptionViewItem& option);

/// Leaves a margin at both ends of a header, and elides its text again for the rest. The view
/// elides without the margin, which cut off the beginning of right-aligned text.
inline void insetHeader(QStyleOptionHeader& header, int edge) {
    header.rect.adjust(edge, 0, -edge, 0);
    if (!header.text.contains(QLatin1Char('\n'))) {  // wrapped lines fit already
        header.text =
            header.fontMetrics.elidedText(header.text, Qt::ElideRight, header.rect.width());
    }
}

QSize menuItemSize(const QStyleOptionMenuItem& option, const QSize& contents);
void drawMenuPanel(const QStyleOption& option, QPainter& painter);

QRect scrollHandle(const QStyleOptionSlider& option);
void drawSplitter(const QStyleOption& option, QPainter& painter);

}  // namespace millrace::gui
