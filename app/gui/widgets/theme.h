#pragma once
// How the console looks: colours, spacing and fonts, dark and light.
//
// Painters ask colorsOf(palette()) while they paint; the window's palette says which theme is on,
// so nothing has to be told of a switch (QEvent::PaletteChange repaints). Standard widgets are
// dressed by ThemeControl through a palette and one style sheet, which knows these properties:
//   QPushButton, QToolButton  "look": "primary" (one a view), "danger", "flat"
//   QLabel                    "look": "title", "heading", "caption" (small, dim), "dim", "mono",
//                                     "error"
//   QFrame                    "look": "card" (surface, border, round), "bar" (a line below)
// Set them with setLook() before the widget is shown. Every text colour has a contrast of at least
// 4.5 to every background it may stand on (a test computes it).
//
// Threads: the GUI thread.
#include <QColor>
#include <QFont>
#include <QObject>
#include <QPalette>
#include <QString>
#include <optional>

class QApplication;
class QWidget;

namespace millrace::gui {

/// Distances in device-independent pixels.
inline constexpr int kSpaceTiny = 4, kSpaceSmall = 8, kSpaceMedium = 12, kSpaceLarge = 16,
                     kSpaceHuge = 24;
inline constexpr int kCornerRadius = 6;

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
QPalette paletteOf(const ThemeColors& colors);
/// 1 to 21, as WCAG 2 defines it.
double contrastRatio(const QColor& a, const QColor& b);
/// `share` of `over` on `under`.
QColor mixed(const QColor& under, const QColor& over, double share);

/// For ids, specs, logs and numbers in columns; of the size of `base`.
QFont monoFont(const QFont& base);
QFont titleFont(const QFont& base);    ///< of a page or an empty state
QFont headingFont(const QFont& base);  ///< of a section or card
QFont captionFont(const QFont& base);  ///< below a figure, above a field

void setLook(QWidget& widget, const char* look);

enum class ThemeChoice { kSystem, kDark, kLight };
std::optional<ThemeChoice> parseTheme(const QString& word);  ///< "system", "dark", "light"
QString nameOf(ThemeChoice choice);

/// Dresses the application; one lives in main().
class ThemeControl final : public QObject {
    Q_OBJECT

 public:
    /// Takes the system's palette as it is now for the system's theme.
    explicit ThemeControl(QApplication& application);
    ThemeChoice choice() const { return choice_; }
    bool isDark() const { return isDark_; }
    void choose(ThemeChoice choice);
    /// From what is seen now to the other one, and stays there.
    void toggle();

 Q_SIGNALS:
    void changed();

 protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

 private:
    void readSystem();
    void apply();

    QApplication& application_;
    ThemeChoice choice_ = ThemeChoice::kSystem;
    bool isSystemDark_ = false, isDark_ = false, isApplied_ = false, isApplying_ = false;
};

}  // namespace millrace::gui
