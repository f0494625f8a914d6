#pragma once
// What the line above the table asks for, applied to the rows.
//
// Words are searched for at once. An expression of the filter grammar is the daemon's: it parses
// it, which tells whether and where the text is wrong, and then lists what it finds. While runs
// change, an expression is asked again after a while. Only the last text counts.
// Threads: the GUI thread. Owns: the wanted filter. Failure: the daemon's sentence at the line;
// what was found last stays.
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

    /// Empties the line too.
    void clear();
    /// Runs have changed: an expression may find others.
    void runsChanged();
    /// Other runs are shown (deleted ones): an expression is asked now.
    void askAgain();
    /// The daemon was left.
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
