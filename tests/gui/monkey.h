#pragma once
// A random user: seeded mouse, wheel, key and window events on visible widgets.
//
// The same seed on the same window gives the same events. It never closes the window for good and
// never leaves the process. Each event and its consequences (all posted events) are timed in CPU
// time of the GUI thread.
#include <QPoint>
#include <QPointer>
#include <QWidget>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace millrace::tests {

class Monkey {
 public:
    struct Turn {
        double cpuMs = 0;      ///< of the GUI thread: the event and all that it posted
        std::string what;      ///< "key Ctrl+2 at QTableView runs.table"
        bool isTheme = false;  ///< it switched the theme, so every widget is styled again
    };

    /// `root` outlives the monkey.
    Monkey(QWidget& root, std::uint64_t seed) : root_(root), random_(seed) {}

    /// Starts; the event loop does the rest. Call once.
    void start(int events);
    /// All events have happened, and no menu or dialog is open.
    bool isDone() const { return isDone_; }
    const std::vector<Turn>& turns() const { return turns_; }
    /// Marks the present turn as a switch of the theme.
    void markTheme();

 private:
    void next();
    void finish();
    std::string act();
    int below(int n) { return static_cast<int>(random_() % static_cast<std::uint64_t>(n)); }
    QWidget* anyTopLevel();
    QWidget* anyWidget();
    QPoint anyPoint(const QWidget& widget);
    std::string click(QWidget& widget);
    std::string drag(QWidget& widget);
    std::string wheel(QWidget& widget);
    std::string key(QWidget& widget);
    std::string type(QWidget& widget);
    std::string resize();
    void leaveFileDialogs();

    QWidget& root_;
    std::mt19937_64 random_;
    int left_ = 0;
    bool isDone_ = false;
    double turnBeganMs_ = 0;
    std::vector<Turn> turns_;
};

/// The slowest turns first, as text, and a histogram in ms.
std::string describeSlowest(std::vector<Monkey::Turn> turns, int count);
std::string histogramOf(const std::vector<Monkey::Turn>& turns);

}  // namespace millrace::tests
