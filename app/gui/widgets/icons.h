#pragma once
// The console's own icons: line drawings in a 16 x 16 grid, painted in the colours of the theme at
// any scale. No files.
//
// Threads: the GUI thread.
#include <QColor>
#include <QIcon>
#include <QPainter>

class QToolButton;

namespace millrace::gui {

enum class Glyph {
    kWatch,
    kRuns,
    kLaunch,
    kData,
    kSearch,
    kClose,
    kPlus,
    kChevronRight,
    kChevronDown,
    kChevronUp,
    kStop,
    kPlay,
    kPause,
    kRefresh,
    kCopy,
    kTrash,
    kFilter,
    kColumns,
    kWarning,
    kInfo,
    kTick,
    kKeyboard,
    kTheme
};

void paintGlyph(QPainter& painter, const QRectF& square, Glyph glyph, const QColor& color);
/// Follows the palette of the application: text colour, dim when disabled, accent when checked.
QIcon icon(Glyph glyph);
/// Makes a flat button that shows only a glyph.
QToolButton* iconButton(Glyph glyph, const QString& toolTip, QWidget* parent);
/// The application's icon: a water wheel over a mill race.
void paintApplicationIcon(QPainter& painter, const QRectF& square);
QIcon applicationIcon();

}  // namespace millrace::gui
