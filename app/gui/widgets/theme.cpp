#include "app/gui/widgets/theme.h"

#include <QApplication>
#include <QEvent>
#include <QPalette>
#include <QToolTip>

#include "app/gui/widgets/console_style.h"

namespace millrace::gui {

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

// An application palette without colours of its own is the system's.
void ThemeControl::readSystem() {
    isSystemDark_ = QPalette().color(QPalette::Window).lightness() < 128;
}

void ThemeControl::apply() {
    isApplying_ = true;
    if (!isApplied_) {
        QApplication::setStyle(new ConsoleStyle);
        isApplied_ = true;
    }
    const QPalette palette = paletteOf(isDark_ ? darkColors() : lightColors());
    QApplication::setPalette(palette);
    QToolTip::setPalette(palette);
    isApplying_ = false;
    Q_EMIT changed();
}

bool ThemeControl::eventFilter(QObject* watched, QEvent* event) {
    // The desktop switched its theme, which windows are notified of. Our own palette hides the
    // system's, so it is removed briefly to read that.
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
