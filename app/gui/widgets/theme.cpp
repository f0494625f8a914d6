#include "app/gui/widgets/theme.h"

#include <QApplication>
#include <QEvent>
#include <QFontDatabase>
#include <QStyle>
#include <QVariant>
#include <QWidget>
#include <algorithm>
#include <cmath>

#include "app/gui/widgets/console_style.h"

namespace millrace::gui {
namespace {

ThemeColors makeDark() {
    ThemeColors c;
    c.isDark = true;
    c.window = QColor(0x14, 0x17, 0x1c);
    c.surface = QColor(0x1b, 0x1f, 0x26);
    c.raised = QColor(0x25, 0x2a, 0x33);
    c.sunken = QColor(0x10, 0x13, 0x17);
    c.text = QColor(0xe8, 0xeb, 0xf0);
    c.dim = QColor(0xaa, 0xb2, 0xbf);
    c.faint = QColor(0x87, 0x90, 0x9f);
    c.border = QColor(0x2d, 0x33, 0x3e);
    c.strongBorder = QColor(0x6b, 0x74, 0x84);
    c.accent = QColor(0x56, 0xb4, 0xe9);
    c.onAccent = QColor(0x07, 0x18, 0x22);
    c.selection = QColor(0x1d, 0x3d, 0x54);
    c.good = QColor(0x45, 0xc9, 0x95);
    c.warn = QColor(0xf0, 0xb4, 0x3c);
    c.bad = QColor(0xff, 0x8b, 0x7b);
    c.info = QColor(0x7c, 0xc4, 0xee);
    c.goodBack = QColor(0x14, 0x33, 0x2a);
    c.warnBack = QColor(0x3a, 0x2d, 0x12);
    c.badBack = QColor(0x42, 0x1f, 0x1f);
    c.infoBack = QColor(0x17, 0x2f, 0x40);
    c.neutralBack = QColor(0x2a, 0x30, 0x3a);
    return c;
}

ThemeColors makeLight() {
    ThemeColors c;
    c.window = QColor(0xf3, 0xf5, 0xf8);
    c.surface = QColor(0xff, 0xff, 0xff);
    c.raised = QColor(0xff, 0xff, 0xff);
    c.sunken = QColor(0xea, 0xed, 0xf1);
    c.text = QColor(0x18, 0x1d, 0x25);
    c.dim = QColor(0x4c, 0x55, 0x63);
    c.faint = QColor(0x5f, 0x68, 0x76);
    c.border = QColor(0xd8, 0xdd, 0xe4);
    c.strongBorder = QColor(0x7c, 0x85, 0x94);
    c.accent = QColor(0x00, 0x66, 0xa1);
    c.onAccent = QColor(0xff, 0xff, 0xff);
    c.selection = QColor(0xd3, 0xe7, 0xf6);
    c.good = QColor(0x00, 0x6b, 0x4a);
    c.warn = QColor(0x80, 0x52, 0x00);
    c.bad = QColor(0xb0, 0x23, 0x1b);
    c.info = QColor(0x00, 0x5f, 0x96);
    c.goodBack = QColor(0xdc, 0xf3, 0xea);
    c.warnBack = QColor(0xfb, 0xee, 0xd3);
    c.badBack = QColor(0xfc, 0xe4, 0xe1);
    c.infoBack = QColor(0xdf, 0xef, 0xf9);
    c.neutralBack = QColor(0xe4, 0xe8, 0xed);
    return c;
}

double linear(double channel) {
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& color) {
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
           0.0722 * linear(color.blueF());
}

// %name is replaced by the theme's colour of that name. Kept small: what Fusion does well with the
// palette alone stays Fusion's.
constexpr const char* kSheet = R"(
QToolTip { color: %text; background: %raised; border: 1px solid %border; padding: 4px 6px; }
QPushButton, QToolButton { padding: 4px 12px; border-radius: 5px; border: 1px solid %border;
  background: %raised; color: %text; min-height: 18px; }
QToolButton { padding: 3px 6px; }
QPushButton:hover, QToolButton:hover { border-color: %strongBorder; }
QPushButton:pressed, QToolButton:pressed, QToolButton:checked { background: %selection; }
QPushButton:focus, QToolButton:focus { border: 1px solid %accent; outline: none; }
QPushButton:disabled, QToolButton:disabled { color: %faint; background: %window; }
QPushButton[look="primary"] { background: %accent; color: %onAccent; border-color: %accent;
  font-weight: 600; }
QPushButton[look="primary"]:hover { background: %accentHover; }
QPushButton[look="primary"]:focus { border: 2px solid %text; padding: 3px 11px; }
QPushButton[look="primary"]:disabled { background: %neutralBack; color: %dim;
  border-color: %border; }
QPushButton[look="danger"] { color: %bad; border-color: %bad; }
QPushButton[look="danger"]:hover { background: %badBack; }
QPushButton[look="flat"], QToolButton[look="flat"] { background: transparent;
  border-color: transparent; }
QPushButton[look="flat"]:hover, QToolButton[look="flat"]:hover { background: %hover; }
QPushButton[look="flat"]:focus, QToolButton[look="flat"]:focus { border-color: %accent; }
QToolButton::menu-indicator { image: none; }
QLineEdit, QPlainTextEdit, QTextEdit { background: %surface; color: %text;
  border: 1px solid %border; border-radius: 5px; padding: 3px 6px;
  selection-background-color: %accent; selection-color: %onAccent; }
QLineEdit { min-height: 26px; padding: 0 6px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextEdit:focus {
  border-color: %accent; }
QAbstractSpinBox QLineEdit, QComboBox QLineEdit { border: none; background: transparent;
  padding: 0; min-height: 0; }
QLineEdit[look="error"] { border-color: %bad; }
QAbstractItemView { background: %surface; alternate-background-color: %surface; color: %text;
  border: 1px solid %border; selection-background-color: %selection; selection-color: %text;
  outline: none; }
QTableView, QTreeView { gridline-color: %border; }
QTableView:focus, QTreeView:focus, QListView:focus { border-color: %accent; }
QHeaderView { background: %sunken; border: none; }
QHeaderView::section { background: %sunken; color: %dim; border: none;
  border-right: 1px solid %border; border-bottom: 1px solid %border; padding: 4px 8px; }
QTableCornerButton::section { background: %sunken; border: none;
  border-right: 1px solid %border; border-bottom: 1px solid %border; }
QProgressBar { background: transparent; border: none; }
QProgressBar::chunk { background: %accent; }
QTabWidget::pane { border: none; border-top: 1px solid %border; }
QTabBar::tab { background: transparent; color: %dim; padding: 6px 12px; border: none;
  border-bottom: 2px solid transparent; }
QTabBar::tab:hover { color: %text; }
QTabBar::tab:selected { color: %text; border-bottom-color: %accent; }
QTabBar::tab:focus { color: %accent; }
QSplitter::handle { background: transparent; }
QSplitter::handle:hover { background: %selection; }
QMenu { background: %raised; border: 1px solid %border; padding: 4px; }
QMenu::item { padding: 5px 20px 5px 12px; border-radius: 4px; color: %text; }
QMenu::item:selected { background: %selection; }
QMenu::item:disabled { color: %faint; }
QMenu::separator { height: 1px; background: %border; margin: 4px 8px; }
QScrollBar { background: transparent; border: none; }
QAbstractScrollArea::corner { background: transparent; border: none; }
QScrollArea { background: transparent; border: none; }
QScrollBar:vertical { width: 11px; }
QScrollBar:horizontal { height: 11px; }
QScrollBar::handle { background: %scroll; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: %strongBorder; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
QLabel[look="caption"], QLabel[look="dim"] { color: %dim; }
QLabel[look="error"] { color: %bad; }
QFrame[look="card"] { background: %surface; border: 1px solid %border; border-radius: 6px; }
QFrame[look="bar"] { background: %sunken; border: none; border-bottom: 1px solid %border; }
)";

QString sheetOf(const ThemeColors& c) {
    const std::pair<const char*, QColor> names[] = {
        // Longer names first: "%accentHover" begins with "%accent".
        {"%accentHover", mixed(c.accent, c.isDark ? Qt::white : Qt::black, 0.15)},
        {"%strongBorder", c.strongBorder},
        {"%neutralBack", c.neutralBack},
        {"%selection", c.selection},
        {"%onAccent", c.onAccent},
        {"%surface", c.surface},
        {"%badBack", c.badBack},
        {"%window", c.window},
        {"%raised", c.raised},
        {"%sunken", c.sunken},
        {"%border", c.border},
        {"%accent", c.accent},
        {"%scroll", mixed(c.surface, c.text, 0.25)},
        {"%hover", mixed(c.window, c.text, 0.08)},
        {"%faint", c.faint},
        {"%text", c.text},
        {"%dim", c.dim},
        {"%bad", c.bad}};
    QString sheet = QString::fromLatin1(kSheet);
    for (const auto& [name, color] : names) {
        sheet.replace(QLatin1String(name), color.name());
    }
    return sheet;
}

QFont scaled(const QFont& base, double factor) {
    QFont font = base;
    if (base.pointSizeF() > 0) {
        font.setPointSizeF(base.pointSizeF() * factor);
    } else {
        font.setPixelSize(std::max(1, static_cast<int>(std::lround(base.pixelSize() * factor))));
    }
    return font;
}

void applyLookFont(QWidget& widget, const QString& look) {
    const QFont base = QApplication::font();
    if (look == QLatin1String("title")) {
        widget.setFont(titleFont(base));
    } else if (look == QLatin1String("heading")) {
        widget.setFont(headingFont(base));
    } else if (look == QLatin1String("caption")) {
        widget.setFont(captionFont(base));
    } else if (look == QLatin1String("mono")) {
        widget.setFont(monoFont(base));
    }
}

}  // namespace

const ThemeColors& darkColors() {
    static const ThemeColors kColors = makeDark();
    return kColors;
}

const ThemeColors& lightColors() {
    static const ThemeColors kColors = makeLight();
    return kColors;
}

const ThemeColors& colorsOf(const QPalette& palette) {
    QColor ground = palette.color(QPalette::Active, QPalette::Window);
    if (ground.alpha() < 255) {
        // A style sheet made it see-through: what is behind it is the application's.
        ground = QApplication::palette().color(QPalette::Active, QPalette::Window);
    }
    return ground.lightness() < 128 ? darkColors() : lightColors();
}

QPalette paletteOf(const ThemeColors& c) {
    QPalette p;
    p.setColor(QPalette::Window, c.window);
    p.setColor(QPalette::WindowText, c.text);
    p.setColor(QPalette::Base, c.surface);
    p.setColor(QPalette::AlternateBase, mixed(c.surface, c.text, 0.03));
    p.setColor(QPalette::Text, c.text);
    p.setColor(QPalette::PlaceholderText, c.faint);
    p.setColor(QPalette::Button, c.raised);
    p.setColor(QPalette::ButtonText, c.text);
    p.setColor(QPalette::BrightText, c.bad);
    p.setColor(QPalette::ToolTipBase, c.raised);
    p.setColor(QPalette::ToolTipText, c.text);
    p.setColor(QPalette::Highlight, c.selection);
    p.setColor(QPalette::HighlightedText, c.text);
    p.setColor(QPalette::Link, c.accent);
    p.setColor(QPalette::LinkVisited, c.accent);
    p.setColor(QPalette::Light, mixed(c.raised, Qt::white, 0.1));
    p.setColor(QPalette::Midlight, c.raised);
    p.setColor(QPalette::Mid, c.border);
    p.setColor(QPalette::Dark, c.strongBorder);
    p.setColor(QPalette::Shadow, c.isDark ? QColor(0, 0, 0) : QColor(0x60, 0x68, 0x74));
    for (const QPalette::ColorRole role :
         {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) {
        p.setColor(QPalette::Disabled, role, c.faint);
    }
    return p;
}

double contrastRatio(const QColor& a, const QColor& b) {
    const double one = luminance(a), other = luminance(b);
    return (std::max(one, other) + 0.05) / (std::min(one, other) + 0.05);
}

QColor mixed(const QColor& under, const QColor& over, double share) {
    const auto mix = [share](int from, int to) {
        return static_cast<int>(std::lround(from + (to - from) * share));
    };
    return {mix(under.red(), over.red()), mix(under.green(), over.green()),
            mix(under.blue(), over.blue())};
}

QFont monoFont(const QFont& base) {
    static const QString kFamily = QFontDatabase::systemFont(QFontDatabase::FixedFont).family();
    QFont font = scaled(base, 0.96);
    font.setFamily(kFamily);
    font.setStyleHint(QFont::Monospace);
    font.setFixedPitch(true);
    return font;
}

QFont titleFont(const QFont& base) {
    QFont font = scaled(base, 1.45);
    font.setWeight(QFont::DemiBold);
    return font;
}

QFont headingFont(const QFont& base) {
    QFont font = scaled(base, 1.04);
    font.setWeight(QFont::DemiBold);
    return font;
}

QFont captionFont(const QFont& base) {
    return scaled(base, 0.88);
}

void setLook(QWidget& widget, const char* look) {
    const QString text = QString::fromLatin1(look);
    if (widget.property("look").toString() == text) {
        return;
    }
    widget.setProperty("look", text);
    applyLookFont(widget, text);
    if (widget.testAttribute(Qt::WA_WState_Polished)) {
        // A style sheet looks at properties only when a widget is polished.
        widget.style()->unpolish(&widget);
        widget.style()->polish(&widget);
    }
}

std::optional<ThemeChoice> parseTheme(const QString& word) {
    for (const ThemeChoice choice :
         {ThemeChoice::kSystem, ThemeChoice::kDark, ThemeChoice::kLight}) {
        if (nameOf(choice) == word) {
            return choice;
        }
    }
    return std::nullopt;
}

QString nameOf(ThemeChoice choice) {
    switch (choice) {
        case ThemeChoice::kDark:
            return QStringLiteral("dark");
        case ThemeChoice::kLight:
            return QStringLiteral("light");
        case ThemeChoice::kSystem:
            break;
    }
    return QStringLiteral("system");
}

ThemeControl::ThemeControl(QApplication& application) : application_(application) {
    readSystem();
    isDark_ = isSystemDark_;
    application_.installEventFilter(this);
}

void ThemeControl::choose(ThemeChoice choice) {
    choice_ = choice;
    if (choice == ThemeChoice::kSystem) {
        isDark_ = isSystemDark_;
    } else {
        isDark_ = choice == ThemeChoice::kDark;
    }
    apply();
}

void ThemeControl::toggle() {
    choose(isDark_ ? ThemeChoice::kLight : ThemeChoice::kDark);
}

// An application palette without own colours is the system's.
void ThemeControl::readSystem() {
    isSystemDark_ = QPalette().color(QPalette::Window).lightness() < 128;
}

void ThemeControl::apply() {
    isApplying_ = true;
    if (!isApplied_) {
        QApplication::setStyle(new ConsoleStyle);
        isApplied_ = true;
    }
    const ThemeColors& colors = isDark_ ? darkColors() : lightColors();
    QApplication::setPalette(paletteOf(colors));
    application_.setStyleSheet(sheetOf(colors));
    isApplying_ = false;
    Q_EMIT changed();
}

bool ThemeControl::eventFilter(QObject* watched, QEvent* event) {
    // The desktop switched: windows are told. Our own palette hides the system's, so it is taken
    // away for a look.
    if (event->type() == QEvent::ThemeChange && watched->isWindowType() && isApplied_ &&
        !isApplying_) {
        isApplying_ = true;
        QApplication::setPalette(QPalette());
        readSystem();
        isApplying_ = false;
        choose(choice_);
    }
    return false;
}

}  // namespace millrace::gui
