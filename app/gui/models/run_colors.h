#pragma once
// One colour a run, from the Okabe-Ito palette, the same on every page and from start to start.
//
// A run keeps the colour that it got first: its own (by a hash of its id) where no other run that
// is shown has it, else the next free one; runs beyond the palette repeat colours and are told
// apart by a dash (isDashed). Threads: the GUI thread.
#include <QColor>
#include <QHash>
#include <QSettings>
#include <QStringList>
#include <string>
#include <vector>

namespace millrace::gui {

class RunColors {
 public:
    struct Look {
        QColor color;
        bool isDashed = false;
    };
    /// The palette without black and without the yellow that no light background carries.
    static const std::vector<QColor>& palette();

    /// Gives colours to runs that are shown together; those that have one keep it.
    void assign(const std::vector<std::string>& runIds);
    Look of(const std::string& runId) const;

    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 private:
    QHash<QString, int> places_;  ///< run id to place in the palette, above its size: dashed
    QStringList order_;           ///< oldest first; the last 500 are remembered
};

}  // namespace millrace::gui
