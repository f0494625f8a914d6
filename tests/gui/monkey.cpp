#include "tests/gui/monkey.h"

#include <QAbstractButton>
#include <QApplication>
#include <QCursor>
#include <QFileDialog>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QTimer>
#include <QWheelEvent>
#include <QtTest/QTest>
#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <memory>

namespace millrace::tests {
namespace {

double threadCpuMs() {
    timespec now{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

std::string nameOf(const QWidget& widget) {
    std::string name = widget.metaObject()->className();
    if (const auto* button = qobject_cast<const QAbstractButton*>(&widget)) {
        return name + " '" +
               (button->text().isEmpty() ? button->toolTip() : button->text()).toStdString() + "'";
    }
    for (const QWidget* w = &widget; w != nullptr; w = w->parentWidget()) {
        if (!w->objectName().isEmpty() && !w->objectName().startsWith("qt_")) {
            return name + " " + w->objectName().toStdString();
        }
    }
    return name;
}

void sendKey(QWidget& widget, int key, Qt::KeyboardModifiers modifiers, const QString& text) {
    // Through the shortcut map, as from a keyboard.
    QTest::sendKeyEvent(QTest::Click, &widget, static_cast<Qt::Key>(key), text, modifiers);
}

const std::vector<QKeyCombination>& keys() {
    static const std::vector<QKeyCombination> kKeys = {Qt::Key_Up,
                                                       Qt::Key_Down,
                                                       Qt::Key_Left,
                                                       Qt::Key_Right,
                                                       Qt::Key_Return,
                                                       Qt::Key_Escape,
                                                       Qt::Key_Tab,
                                                       Qt::Key_Backtab,
                                                       Qt::Key_Space,
                                                       Qt::Key_Delete,
                                                       Qt::Key_Home,
                                                       Qt::Key_End,
                                                       Qt::Key_PageUp,
                                                       Qt::Key_PageDown,
                                                       Qt::Key_F,
                                                       Qt::Key_Slash,
                                                       Qt::Key_Question,
                                                       Qt::Key_F2,
                                                       Qt::Key_F8,
                                                       Qt::Key_S,
                                                       Qt::Key_L,
                                                       Qt::Key_C,
                                                       Qt::Key_Plus,
                                                       Qt::Key_Minus,
                                                       Qt::Key_Backspace,
                                                       Qt::CTRL | Qt::Key_1,
                                                       Qt::CTRL | Qt::Key_2,
                                                       Qt::CTRL | Qt::Key_3,
                                                       Qt::CTRL | Qt::Key_4,
                                                       Qt::CTRL | Qt::Key_A,
                                                       Qt::CTRL | Qt::Key_C,
                                                       Qt::CTRL | Qt::Key_V,
                                                       Qt::CTRL | Qt::Key_Z,
                                                       Qt::CTRL | Qt::Key_Y,
                                                       Qt::CTRL | Qt::Key_F,
                                                       Qt::CTRL | Qt::Key_Space,
                                                       Qt::CTRL | Qt::Key_Slash,
                                                       Qt::CTRL | Qt::Key_Return,
                                                       Qt::CTRL | Qt::SHIFT | Qt::Key_P,
                                                       Qt::CTRL | Qt::SHIFT | Qt::Key_T};
    return kKeys;
}

}  // namespace

QWidget* Monkey::anyTopLevel() {
    if (QWidget* popup = QApplication::activePopupWidget(); popup != nullptr && below(4) != 0) {
        return popup;
    }
    if (QWidget* modal = QApplication::activeModalWidget(); modal != nullptr) {
        return modal;
    }
    std::vector<QWidget*> windows;
    for (QWidget* widget : QApplication::topLevelWidgets()) {
        if (widget->isVisible()) {
            windows.push_back(widget);
        }
    }
    if (windows.empty()) {
        root_.show();
        return &root_;
    }
    // Chooses mostly the window, sometimes one of its dialogs and popups.
    return below(3) == 0
               ? windows[static_cast<std::size_t>(below(static_cast<int>(windows.size())))]
               : &root_;
}

QWidget* Monkey::anyWidget() {
    QWidget* top = anyTopLevel();
    std::vector<QWidget*> choices;
    for (QWidget* widget : top->findChildren<QWidget*>()) {
        if (widget->isVisible() && widget->isEnabled() && widget->width() > 2 &&
            widget->height() > 2) {
            choices.push_back(widget);
        }
    }
    return choices.empty()
               ? top
               : choices[static_cast<std::size_t>(below(static_cast<int>(choices.size())))];
}

QPoint Monkey::anyPoint(const QWidget& widget) {
    return {below(std::max(1, widget.width())), below(std::max(1, widget.height()))};
}

std::string Monkey::click(QWidget& widget) {
    static constexpr std::array kModifiers = {Qt::NoModifier, Qt::NoModifier, Qt::NoModifier,
                                              Qt::ControlModifier, Qt::ShiftModifier};
    const Qt::MouseButton button = below(8) == 0 ? Qt::RightButton : Qt::LeftButton;
    const QPoint at = anyPoint(widget);
    const Qt::KeyboardModifiers modifiers = kModifiers[static_cast<std::size_t>(below(5))];
    const std::string name = nameOf(widget);
    if (button == Qt::RightButton) {
        // A context menu opens without a nested loop only if the window asks for it.
        QTest::mouseClick(&widget, button, modifiers, at);
        return "right click at " + name;
    }
    if (below(6) == 0) {
        QTest::mouseDClick(&widget, button, modifiers, at);
        return "double click at " + name;
    }
    QTest::mouseClick(&widget, button, modifiers, at);
    return "click at " + name;
}

std::string Monkey::drag(QWidget& widget) {
    const QPointer<QWidget> target(&widget);
    const std::string name = nameOf(widget);
    QTest::mousePress(&widget, Qt::LeftButton, below(4) == 0 ? Qt::ShiftModifier : Qt::NoModifier,
                      anyPoint(widget));
    for (int i = 0; i < 3 && target != nullptr; ++i) {
        const QPoint at = anyPoint(*target);
        QMouseEvent move(QEvent::MouseMove, at, target->mapToGlobal(at), Qt::NoButton,
                         Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(target, &move);
    }
    if (target != nullptr) {
        QTest::mouseRelease(target, Qt::LeftButton, Qt::NoModifier, anyPoint(*target));
    }
    return "drag in " + name;
}

std::string Monkey::wheel(QWidget& widget) {
    const QPoint at = anyPoint(widget);
    const int turn = (below(2) == 0 ? 120 : -120) * (1 + below(4));
    QWheelEvent event(at, widget.mapToGlobal(at), {}, {0, turn}, Qt::NoButton,
                      below(5) == 0 ? Qt::ShiftModifier : Qt::NoModifier, Qt::NoScrollPhase, false);
    const std::string name = nameOf(widget);
    QApplication::sendEvent(&widget, &event);
    return "wheel over " + name;
}

std::string Monkey::key(QWidget& widget) {
    const QKeyCombination combination =
        keys()[static_cast<std::size_t>(below(static_cast<int>(keys().size())))];
    QWidget* focus = QApplication::focusWidget();
    QWidget& target = focus != nullptr && below(5) != 0 ? *focus : widget;
    const std::string name = nameOf(target);
    const int key = combination.key();
    const QString text = combination.keyboardModifiers() == Qt::NoModifier && key < 128
                             ? QString(QChar(key)).toLower()
                             : QString();
    sendKey(target, key, combination.keyboardModifiers(), text);
    return "key " + QKeySequence(combination).toString().toStdString() + " at " + name;
}

std::string Monkey::type(QWidget& widget) {
    static const std::array<const char*, 8> kTexts = {
        "a",  "metrics.loss < 0.5 and", "params.\"",  "\n  - {filter: rating >", "'; drop",
        "{}", "\xc3\xa4\xe2\x82\xac",   "name: [x, y"};
    QWidget* focus = QApplication::focusWidget();
    QPointer<QWidget> target(focus != nullptr ? focus : &widget);
    const std::string name = nameOf(*target);
    const QString text = QString::fromUtf8(kTexts[static_cast<std::size_t>(below(8))]);
    for (const QChar c : text) {
        if (target == nullptr) {
            break;
        }
        sendKey(*target, c == '\n' ? Qt::Key_Return : Qt::Key_unknown, Qt::NoModifier, QString(c));
    }
    return "types into " + name;
}

std::string Monkey::resize() {
    root_.resize(600 + below(1400), 400 + below(900));
    return "resize";
}

// File dialogs work on the real disk, so the monkey closes them.
void Monkey::leaveFileDialogs() {
    for (QWidget* widget : QApplication::topLevelWidgets()) {
        if (auto* dialog = qobject_cast<QFileDialog*>(widget)) {
            dialog->reject();
        }
    }
}

void Monkey::start(int events) {
    left_ = events;
    turnBeganMs_ = threadCpuMs();
    next();
}

void Monkey::next() {
    const double now = threadCpuMs();
    if (!turns_.empty()) {
        turns_.back().cpuMs = now - turnBeganMs_;
    }
    turnBeganMs_ = now;
    if (left_-- <= 0) {
        finish();
        return;
    }
    // Scheduled first: the event may not return before the next one arrives.
    QTimer::singleShot(0, &root_, [this] { next(); });
    leaveFileDialogs();
    if (!root_.isVisible()) {
        root_.show();
    }
    turns_.emplace_back();
    const std::size_t place = turns_.size() - 1;
    turns_[place].what = "...";
    const std::string what = act();
    turns_[place].what = what;
}

void Monkey::markTheme() {
    if (!turns_.empty()) {
        turns_.back().isTheme = true;
    }
}

// Closes menus and dialogs one at a time, so that nested event loops can end.
void Monkey::finish() {
    leaveFileDialogs();
    if (QWidget* popup = QApplication::activePopupWidget(); popup != nullptr) {
        popup->close();
    } else if (QWidget* modal = QApplication::activeModalWidget(); modal != nullptr) {
        modal->close();
    } else {
        isDone_ = true;
        return;
    }
    QTimer::singleShot(0, &root_, [this] { finish(); });
}

std::string Monkey::act() {
    QWidget& widget = *anyWidget();
    switch (below(20)) {
        case 0:
            return below(10) == 0 ? resize() : wheel(widget);
        case 1:
        case 2:
            return wheel(widget);
        case 3:
        case 4:
            return drag(widget);
        case 5:
            return type(widget);
        case 6:
        case 7:
        case 8:
        case 9:
        case 10:
            return key(widget);
        default:
            return click(widget);
    }
}

std::string describeSlowest(std::vector<Monkey::Turn> turns, int count) {
    std::sort(turns.begin(), turns.end(),
              [](const auto& a, const auto& b) { return a.cpuMs > b.cpuMs; });
    std::string text;
    for (std::size_t i = 0; i < turns.size() && i < static_cast<std::size_t>(count); ++i) {
        char line[64];
        std::snprintf(line, sizeof line, "  %7.2f ms  ", turns[i].cpuMs);
        text += line + turns[i].what + (turns[i].isTheme ? " (theme)\n" : "\n");
    }
    return text;
}

std::string histogramOf(const std::vector<Monkey::Turn>& turns) {
    static constexpr std::array kEdges = {0.5, 1., 2., 4., 8., 16., 33., 66., 100., 1e9};
    std::array<int, kEdges.size()> counts{};
    for (const Monkey::Turn& turn : turns) {
        const auto at = std::lower_bound(kEdges.begin(), kEdges.end(), turn.cpuMs);
        ++counts[static_cast<std::size_t>(at - kEdges.begin())];
    }
    std::string text;
    for (std::size_t i = 0; i < kEdges.size(); ++i) {
        char line[64];
        if (kEdges[i] < 1e6) {
            std::snprintf(line, sizeof line, "  <= %5.1f ms %7d\n", kEdges[i], counts[i]);
        } else {
            std::snprintf(line, sizeof line, "   > 100.0 ms %7d\n", counts[i]);
        }
        text += line;
    }
    return text;
}

}  // namespace millrace::tests
