#pragma once
// What the files of ConsoleStyle share: boxes, and which frame a widget has.
//
// Threads: the GUI thread.
#include <QColor>
#include <QRect>
#include <QSize>

class QPainter;
class QStyleOption;
class QStyleOptionMenuItem;
class QStyleOptionSlider;
class QStyleOptionViewItem;
class QWidget;

namespace millrace::gui {

inline constexpr int kControlHeight = 28, kCheckSize = 16, kControlRadius = 5;

/// A rounded box with a line of `width` inside its edge.
void drawBox(QPainter& painter, const QRectF& rect, const QColor& ground, const QColor& line,
             double width = 1);
/// The box of a field or combo box: its line says focus and hover.
void drawFieldBox(QPainter& painter, const QStyleOption& option, const QColor& ground);
QRectF centredIn(const QRect& rect, double size);

void drawCheckBox(const QStyleOption& option, QPainter& painter);
QSize pushButtonSize(const QSize& contents);
QSize toolButtonSize(const QSize& contents);

/// A chosen row is quiet; the palette's Highlight is for chosen text.
QStyleOptionViewItem quietRow(const QStyleOptionViewItem& option);

QSize menuItemSize(const QStyleOptionMenuItem& option, const QSize& contents);
void drawMenuPanel(const QStyleOption& option, QPainter& painter);

QRect scrollHandle(const QStyleOptionSlider& option);
void drawSplitter(const QStyleOption& option, QPainter& painter);

}  // namespace millrace::gui
