#pragma once
// RunColors: assigns each run a look: a colour, and beyond eight runs a dash; kept across restarts.
//
// Runs shown together all differ. A page reports its runs with assign(); if a run that joins looks
// like another, the joining run changes and the others keep their look. If there is a choice, a run
// keeps its first look, which is derived from a hash of its id. It keeps a dash only while it is
// shown anywhere, or if no colour is free. The base of variations that are shown with it is grey.
// Beyond kNumLooks runs looks repeat. Threads: the GUI thread.
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
    /// `dash`: from charts/parts/line_dash.h; even, so that a second curve of the run can use the
    /// odd one after it.
    struct Look {
        QColor color;
        int dash = 0;
        bool operator==(const Look&) const = default;
    };
    static constexpr int kNumColors = 8, kNumDashes = 4, kNumLooks = kNumColors * kNumDashes;
    /// Six of Okabe and Ito's colours, without black and without yellow, which is unreadable on
    /// light backgrounds, plus violet and khaki. Distinct for the colour-blind too, on dark and
    /// light.
    static const std::vector<QColor>& palette();
    /// For curves that are not runs: the i-th of several.
    static Look numbered(std::size_t i);

    struct Shown {
        std::string id, variationOf;
    };
    /// Sets the runs that `place` (a page's charts) shows from now on, in order. A run is a base if
    /// another one is its variation. Returns true if the look of a shown run has changed.
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

    QHash<QString, int> looks_;  ///< run id to look: kBase, or an index from 0
    QStringList order_;          ///< oldest first; the last 500 are remembered
    std::map<std::string, QStringList> shown_;
};

}  // namespace millrace::gui
