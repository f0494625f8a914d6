#pragma once
// The colours of the console, dark and light, and the palettes made from them.
//
// Painters call colorsOf(palette()) while painting; the palette identifies the theme, so nothing
// needs to be notified of a switch (QEvent::PaletteChange repaints). Every text colour has a
// contrast of at least 4.5 to every background it may be on (a test computes it).
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
    QColor dim;           ///< secondary text; on all of the above
    QColor faint;         ///< units, line numbers, place holders; on window, surface, sunken
    QColor border;        ///< hairlines
    QColor strongBorder;  ///< of controls; 3:1 to the surroundings
    QColor accent;        ///< links, focus rings, the current page; as text on all of the above
    QColor onAccent;      ///< text on accent
    QColor selection;     ///< behind selected rows
    QColor good, warn, bad, info;                  ///< as text on window, surface, raised, sunken
    QColor goodBack, warnBack, badBack, infoBack;  ///< pale backgrounds; text and X are used on
                                                   ///< XBack
    QColor neutralBack;                            ///< of a pill without a special meaning
};
const ThemeColors& darkColors();
const ThemeColors& lightColors();
/// The theme that a widget's palette belongs to.
const ThemeColors& colorsOf(const QPalette& palette);
/// The palette that carries a theme to every widget. Highlight is for selected text; ConsoleStyle
/// draws selected rows.
QPalette paletteOf(const ThemeColors& colors);
/// Roles for labels (QWidget::setForegroundRole): they follow the palette.
inline constexpr QPalette::ColorRole kDimRole = QPalette::LinkVisited;
inline constexpr QPalette::ColorRole kBadRole = QPalette::BrightText;
/// 1 to 21, as WCAG 2 defines it.
double contrastRatio(const QColor& a, const QColor& b);
/// Mixes `share` of `over` onto `under`.
QColor mixed(const QColor& under, const QColor& over, double share);

}  // namespace millrace::gui
