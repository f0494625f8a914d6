#pragma once
// RunsPage: a table to find runs, and a panel with one run's details or several compared.
//
// Keys: / to the filter, C columns, Space ticks for the comparison, Enter opens the details, F2 the
// note, Delete deletes, Ctrl+C copies the rows, Ctrl+Shift+C the ids, Escape back to the table. The
// page connects its parts and dispatches keys and commands; RunsFilter and DeletedRuns make
// requests, ShownColumns and RunsMenus serve the table, RunPanels is beside it. Threads: the GUI
// thread. Owns: its models and widgets. Failure: the daemon's sentences as notices.
#include <QTimer>
#include <functional>
#include <string>
#include <vector>

#include "app/gui/bridge/live_values.h"
#include "app/gui/models/runs/run_trends.h"
#include "app/gui/pages/page.h"

class QSplitter;
class QToolButton;

namespace millrace::gui {

class ColumnChooser;
class ComparePanel;
class DeletedRuns;
class DetailsPanel;
class FilterBar;
class RunActions;
class RunPanels;
class RunRows;
class RunsBody;
class RunsFilter;
class RunsMenus;
class TableExport;
class RunsView;
class ShownColumns;
class TrendFetcher;

class RunsPage final : public Page {
    Q_OBJECT

 public:
    explicit RunsPage(const PageContext& context, QWidget* parent = nullptr);

    PageName name() const override { return PageName::kRuns; }
    std::vector<Command> commands() override;
    void arrive(const Destination& destination) override;
    bool isSettled() const override;
    void saveState(QSettings& settings) const override;
    void restoreState(QSettings& settings) override;

    RunRows& rows() const { return *rows_; }
    RunsView& view() const { return *view_; }
    FilterBar& filterBar() const { return *bar_; }
    DetailsPanel& details() const;
    ComparePanel& compare() const;
    RunActions& actions() const { return *actions_; }
    /// The ids that actions apply to: the selected ones.
    std::vector<std::string> selected() const;
    ColumnChooser* openChooser();

 protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

 private:
    void build();
    void buildLeft();
    void buildTools();
    void connectTable();
    void connectFilter();
    void connectPanels();
    void connectDaemon();
    void addShortcuts();
    void takeRuns(const RunsDelta& delta);
    void refreshAway();
    void leaveDaemon();
    void clearFilter();
    void showRows();
    void lookAtTrends();
    void setDeletedShown(bool isShown);
    void openDetails();
    void editNote();
    void say(Notice::Kind kind, const QString& sentence);
    void tick();

    RunRows* rows_;
    RunTrends trends_;
    TrendFetcher* fetcher_;
    DeletedRuns* deleted_;
    RunActions* actions_;
    QSplitter* splitter_ = nullptr;
    FilterBar* bar_ = nullptr;
    QToolButton *columnsButton_ = nullptr, *nestButton_ = nullptr, *panelButton_ = nullptr;
    RunsBody* body_ = nullptr;
    RunsView* view_ = nullptr;
    RunPanels* panels_ = nullptr;
    RunsFilter* filter_ = nullptr;
    ShownColumns* columns_ = nullptr;
    TableExport* rowsOut_ = nullptr;
    RunsMenus* menus_ = nullptr;
    QTimer clockTimer_;
    bool isComplete_ = false;  ///< every run of the daemon has been delivered
    std::vector<std::string> arriving_;
};

}  // namespace millrace::gui
