#pragma once
// ThemeControl: dark or light: gives the application ConsoleStyle and the palette of the chosen
// theme.
//
// Threads: the GUI thread.
#include <QObject>
#include <QString>
#include <optional>

#include "app/gui/widgets/look.h"
#include "app/gui/widgets/theme_colors.h"

class QApplication;

namespace millrace::gui {

/// Opacity of figures whose source became unreachable after they were read.
inline constexpr double kOldOpacity = 0.45;

enum class ThemeChoice { kSystem, kDark, kLight };
std::optional<ThemeChoice> parseTheme(const QString& word);  ///< "system", "dark", "light"
QString nameOf(ThemeChoice choice);

/// Applies the theme to the application; one lives in main().
class ThemeControl final : public QObject {
    Q_OBJECT

 public:
    /// Reads the system's theme from the present palette.
    explicit ThemeControl(QApplication& application);
    ThemeChoice choice() const { return choice_; }
    bool isDark() const { return isDark_; }
    void choose(ThemeChoice choice);
    /// Switches from the visible theme to the other one, and keeps that.
    void toggle() { choose(isDark_ ? ThemeChoice::kLight : ThemeChoice::kDark); }

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
