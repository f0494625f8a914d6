#pragma once
// One look a run: a colour, and beyond eight runs a dash, from start to start.
//
// Runs that are shown together all differ: a page says with assign() what it shows, and a run that
// comes into it and looks like another gives way; those that were there keep their look. Where that
// leaves a choice a run keeps the look that it got first, at first by a hash of its id; a dash only
// as long as it is shown anywhere, or no colour is free where it comes next. The base of
// variations that are shown with it is grey. Beyond kNumLooks runs looks repeat.
// Threads: the GUI thread.
#include <QColor>
#include <QHash>
#include <QSettings>
#include <QStringList>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace millrace::gui {

class RunColors {
 public:
    /// `dash`: of charts/parts/line_dash.h; even, so that a second curve of the run can have the
    /// odd one behind it.
    struct Look {
        QColor color;
        int dash = 0;
        bool operator==(const Look&) const = default;
    };
    static constexpr int kNumColors = 8, kNumDashes = 4, kNumLooks = kNumColors * kNumDashes;
    /// Six of Okabe and Ito without their black and the yellow that no light background carries,
    /// violet and khaki. They differ for the colour-blind too, on dark and light.
    static const std::vector<QColor>& palette();
    /// For what is no run: the i-th of several curves.
    static Look numbered(std::size_t i);

    struct Shown {
        std::string id, variationOf;
    };
    /// What `place` (a page's charts) shows from now on, in its order. A run of which another one
    /// is a variation is a base. True where the look of a run that was shown has changed.
    bool assign(const std::string& place, const std::vector<Shown>& runs);
    Look of(const std::string& runId) const;

    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 private:
    int wishOf(const QString& key) const;
    std::set<int> othersOf(const QString& key) const;
    bool isShownTwice(const QString& key) const;
    void choose(const QString& key, bool isBase, const std::set<int>& shown);
    void keep(const QString& key, int look);

    QHash<QString, int> looks_;  ///< run id to look, kBase or from 0
    QStringList order_;          ///< oldest first; the last 500 are remembered
    std::map<std::string, QStringList> shown_;
};

}  // namespace millrace::gui
