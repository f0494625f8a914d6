#pragma once
// RunsFilter: applies the filter line above the table to the rows.
//
// Words are searched at once. An expression of the filter grammar is the daemon's: it parses it,
// which reports whether and where the text is wrong, and then lists the matches. While runs change,
// an expression is evaluated again after a while. Only the last text counts. Threads: the GUI
// thread. Owns: the wanted filter. Failure: the daemon's sentence at the line; the last matches
// stay.
#include <QObject>
#include <QTimer>
#include <string>
#include <unordered_set>

#include "app/gui/models/runs/run_rows.h"
#include "app/gui/pages/runs/run_pages.h"

namespace millrace::gui {

class FilterBar;

class RunsFilter final : public QObject {
    Q_OBJECT

 public:
    RunsFilter(DaemonBridge& daemon, FilterBar& bar, RunRows& rows, QObject* parent);

    /// Clears the line too.
    void clear();
    /// Runs have changed: an expression may match others.
    void runsChanged();
    /// Other runs are shown (deleted ones): evaluates an expression now.
    void askAgain();
    /// Call when the daemon was left.
    void drop();
    bool isSettled() const {
        return numParsing_ == 0 && !pages_.isReading() && !textTimer_.isActive();
    }

 Q_SIGNALS:
    void applied();

 private:
    void takeText();
    void giveNames();
    void parse();
    void find(const std::string& filter);
    void takeFound();
    void apply();

    DaemonBridge& daemon_;
    FilterBar& bar_;
    RunRows& rows_;
    RunPages pages_;
    RunFilter wanted_;
    QTimer textTimer_, changesTimer_;
    int serial_ = 0, numParsing_ = 0;
    bool isExpression_ = false;
    std::unordered_set<std::string> foundIds_;
};

}  // namespace millrace::gui
