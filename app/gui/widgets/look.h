#pragma once
// The looks of standard widgets by purpose, which ConsoleStyle draws; and the fonts of the console.
//
//   QPushButton, QToolButton  "primary" (one a view), "danger", "flat"
//   QLabel                    "title", "heading", "caption" (small, dim), "dim", "mono", "error"
//   QLineEdit                 "error"
//   QFrame                    "card" (surface, border, round), "bar" (a line below)
//   item views                "bare": no frame; the view must mark the focus at the current row
//
// Threads: the GUI thread.
#include <QFont>
#include <QMargins>
#include <utility>

class QWidget;

namespace millrace::gui {

/// Distances in device-independent pixels.
inline constexpr int kSpaceTiny = 4, kSpaceSmall = 8, kSpaceMedium = 12, kSpaceLarge = 16,
                     kSpaceHuge = 24;
inline constexpr int kCornerRadius = 6;
inline constexpr int kStyleSpacing = -1;  ///< between a layout's items: as the style decides
inline constexpr QMargins kSectionMargins{kSpaceMedium, kSpaceSmall, kSpaceMedium, kSpaceSmall};

/// Makes a QVBoxLayout or QHBoxLayout for `parent`, or without one for another layout.
template <class Box>
Box* boxIn(QWidget* parent, int spacing = kStyleSpacing, const QMargins& margins = {}) {
    auto* box = new Box(parent);
    box->setContentsMargins(margins);
    box->setSpacing(spacing);
    return box;
}

enum class Look {
    kPlain,
    kPrimary,
    kDanger,
    kFlat,
    kTitle,
    kHeading,
    kCaption,
    kDim,
    kMono,
    kError,
    kCard,
    kBar,
    kBare
};

/// `look` is one of the words above; any other value means the plain look.
void setLook(QWidget& widget, const char* look);
/// Makes a widget with that look.
template <class Widget, class... Arguments>
Widget* styled(const char* look, Arguments&&... arguments) {
    auto* widget = new Widget(std::forward<Arguments>(arguments)...);
    setLook(*widget, look);
    return widget;
}
/// The plain look for nullptr.
Look lookOf(const QWidget* widget);

/// For ids, specs, logs and numbers in columns; in the size of `base`.
QFont monoFont(const QFont& base);
QFont titleFont(const QFont& base);    ///< of a page or an empty state
QFont headingFont(const QFont& base);  ///< of a section or card
QFont captionFont(const QFont& base);  ///< below a figure, above a field

}  // namespace millrace::gui
