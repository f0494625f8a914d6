#pragma once
// Dark or light: dresses the application in ConsoleStyle and the palette of the chosen theme.
//
// Threads: the GUI thread.
#include <QObject>
#include <QString>
#include <optional>

#include "app/gui/widgets/look.h"
#include "app/gui/widgets/theme_colors.h"

class QApplication;

namespace millrace::gui {

/// Opacity of figures whose source has gone away since they were read.
inline constexpr double kOldOpacity = 0.45;

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
