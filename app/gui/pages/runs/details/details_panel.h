#pragma once
// DetailsPanel: everything about one run: overview, metrics, spec, receipt, environment, log,
// checkpoints, note.
//
// Data in the list is shown at once; the rest is read from the daemon, and again as the run
// changes. Threads: the GUI thread. Owns: head, tabs and reader. Failure: for a run that cannot be
// read shows the list's data, with the daemon's sentence above it.
#include <QElapsedTimer>
#include <QSettings>
#include <QWidget>
#include <string>

#include "app/gui/pages/runs/details/run_tabs.h"

class QStackedWidget;

namespace millrace::gui {

class DetailReader;
class EmptyState;
class MessageStrip;
class RunActions;
class RunHead;
class RunTable;

class DetailsPanel final : public QWidget {
    Q_OBJECT

 public:
    using Tab = RunTabs::Tab;

    DetailsPanel(DaemonBridge& daemon, RunTable& runs, const RunColors& colors, RunActions& actions,
                 QWidget* parent);

    /// "": none.
    void setRun(const std::string& id);
    /// Sets the table that contains the run: deleted runs have a table of their own.
    void setTable(RunTable& runs) { runs_ = &runs; }
    const std::string& runId() const { return id_; }
    /// Call when summaries have changed.
    void refresh();
    void clear();
    /// While the daemon is unreachable the data is old, and dimmed.
    void setAway(bool isAway);
    bool isSettled() const;
    void showTab(Tab tab) { tabs_->showTab(tab); }
    void editNote();
    void focusTabs();
    /// The width that all tabs need side by side.
    int tabsWidth() const { return tabs_->tabsWidth(); }

    /// The sections.
    RunTabs& tabs() const { return *tabs_; }
    /// Null before the first reply.
    const values::RunDetail* detail() const;

    void save(QSettings& settings) const { tabs_->save(settings); }
    void restore(QSettings& settings) { tabs_->restore(settings); }

 Q_SIGNALS:
    void said(const QString& sentence);

 private:
    void build(DaemonBridge& daemon, const RunColors& colors, RunActions& actions);
    void connectTabs(RunActions& actions);
    const values::RunSummary* run() const;
    void showSummary(const values::RunSummary& run);
    void showTabData();

    RunTable* runs_;
    std::string id_;
    values::RunSummary shown_;  ///< as it is displayed
    QElapsedTimer sinceShown_;
    DetailReader* reader_;
    QStackedWidget* stack_ = nullptr;
    QWidget* content_ = nullptr;
    EmptyState* empty_ = nullptr;
    RunHead* head_ = nullptr;
    MessageStrip* error_ = nullptr;
    RunTabs* tabs_ = nullptr;
};

}  // namespace millrace::gui
