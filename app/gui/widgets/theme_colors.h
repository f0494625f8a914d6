#pragma once
// The colours of the console, dark and light, and the palette that carries them.
//
// Painters ask colorsOf(palette()) while they paint; the palette says which theme is on, so nothing
// has to be told of a switch (QEvent::PaletteChange repaints). Every text colour has a contrast of
// at least 4.5 to every background it may stand on (a test computes it).
//
// Threads: any; the values never change.
#include <QColor>
#include <QPalette>

namespace millrace::gui {

struct ThemeColors {
    bool isDark = false;
    QColor window;        ///< behind everything
    QColor surface;       ///< cards, tables, editors
    QColor raised;        ///< pop-ups, hovered rows, buttons
    QColor sunken;        ///< headers, side bar, gutters
    QColor text;          ///< on all of the above, and on selection
    QColor dim;           ///< second text; on all of the above
    QColor faint;         ///< units, line numbers, place holders; on window, surface, sunken
    QColor border;        ///< hair lines
    QColor strongBorder;  ///< of controls; 3:1 to what is around
    QColor accent;        ///< links, focus rings, the chosen page; as text on all of the above
    QColor onAccent;      ///< text on accent
    QColor selection;     ///< behind selected rows
    QColor good, warn, bad, info;                  ///< as text on window, surface, raised, sunken
    QColor goodBack, warnBack, badBack, infoBack;  ///< quiet backgrounds; text and X stand on XBack
    QColor neutralBack;                            ///< of a pill that says nothing special
};
const ThemeColors& darkColors();
const ThemeColors& lightColors();
/// The theme that a widget's palette belongs to.
const ThemeColors& colorsOf(const QPalette& palette);
/// What carries a theme to every widget. Highlight is chosen text; chosen rows are ConsoleStyle's.
QPalette paletteOf(const ThemeColors& colors);
/// Roles for labels (QWidget::setForegroundRole): they follow the palette.
inline constexpr QPalette::ColorRole kDimRole = QPalette::LinkVisited;
inline constexpr QPalette::ColorRole kBadRole = QPalette::BrightText;
/// 1 to 21, as WCAG 2 defines it.
double contrastRatio(const QColor& a, const QColor& b);
/// `share` of `over` on `under`.
QColor mixed(const QColor& under, const QColor& over, double share);

}  // namespace millrace::gui
