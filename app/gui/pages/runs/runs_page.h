#pragma once
// The page of runs: a table to find them, a panel with one run's details or several compared.
//
// Keys: / to the filter, C columns, Space ticks for the comparison, Enter opens the details, F2 the
// note, Delete deletes, Ctrl+C copies the rows, Ctrl+Shift+C the ids, Escape back to the table.
// Threads: the GUI thread. Owns: its models and widgets. Failure: the daemon's sentences as
// notices.
#include <QElapsedTimer>
#include <QTimer>
#include <functional>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "app/client/daemon_values.h"
#include "app/gui/models/runs/run_columns.h"
#include "app/gui/models/runs/run_rows.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/runs/run_trends.h"
#include "app/gui/pages/page.h"

class QSplitter;
class QStackedWidget;
class QTabWidget;
class QToolButton;

namespace millrace::gui {

class ColumnChooser;
class ComparePanel;
class DetailsPanel;
class EmptyState;
class FilterBar;
class RunActions;
class RunsView;
class TrendFetcher;

class RunsPage final : public Page {
    Q_OBJECT

 public:
    explicit RunsPage(const PageContext& context, QWidget* parent = nullptr);
    ~RunsPage() override;

    PageName name() const override { return PageName::kRuns; }
    std::vector<Command> commands() override;
    void arrive(const Destination& destination) override;
    bool isSettled() const override;
    void saveState(QSettings& settings) const override;
    void restoreState(QSettings& settings) override;

    RunRows& rows() const { return *rows_; }
    RunsView& view() const { return *view_; }
    FilterBar& filterBar() const { return *filter_; }
    DetailsPanel& details() const { return *details_; }
    ComparePanel& compare() const { return *compare_; }
    RunActions& actions() const { return *actions_; }
    /// The ids that actions are about: the selected ones.
    std::vector<std::string> selected() const;
    ColumnChooser* openChooser();

 Q_SIGNALS:
    /// The parameters of every run are known.
    void paramsRead();

 protected:
    void showEvent(QShowEvent* event) override;
    void hideEvent(QHideEvent* event) override;

 private:
    void build();
    void buildLeft();
    void buildRight();
    void buildTools();
    void buildEmpty();
    void connectTable();
    void connectPanels();
    void connectDaemon();
    void addShortcuts();
    void addKey(const QKeySequence& key, std::function<void()> run);
    // The filter.
    void takeText();
    void applyWords(const QStringList& words);
    void askFilter();
    void fetchIds(const std::string& filter, const std::string& pageToken, int serial);
    void applyFilter();
    void clearFilter();
    void giveNames();
    // What is shown.
    void showCounts();
    void showEmpty();
    void showSelection();
    void showPanels();
    void chooseUsualColumns();
    void needParams();
    void fetchParams(const std::string& pageToken, int serial);
    void setDeletedShown(bool isShown);
    void fetchDeleted(const std::string& pageToken);
    void openDetails();
    void openMenu(const QPoint& position);
    void openHeaderMenu(const QString& key, const QPoint& position);
    void setColumns(const RunColumns& columns);
    void tick();

    std::unique_ptr<RunTable> deletedRuns_;
    RunTrends trends_;
    RunRows* rows_;
    TrendFetcher* fetcher_ = nullptr;
    RunActions* actions_;
    FilterBar* filter_ = nullptr;
    RunsView* view_ = nullptr;
    QStackedWidget* body_ = nullptr;
    EmptyState *noDaemon_ = nullptr, *noRuns_ = nullptr, *noMatch_ = nullptr, *reading_ = nullptr;
    QSplitter* splitter_ = nullptr;
    QTabWidget* tabs_ = nullptr;
    DetailsPanel* details_ = nullptr;
    ComparePanel* compare_ = nullptr;
    QToolButton *columnsButton_ = nullptr, *nestButton_ = nullptr, *panelButton_ = nullptr;
    RunFilter wanted_;
    QTimer filterTimer_, refilterTimer_, paramTimer_, clockTimer_, selectionTimer_;
    QElapsedTimer sinceSelection_, sinceColumns_;
    std::uint64_t paramRevision_ = 0;  ///< parameters of runs up to it have been read
    int filterSerial_ = 0, numOpen_ = 0, epoch_ = 0;
    bool isByDaemon_ = false, hasColumns_ = false, isComplete_ = false, isReadingParams_ = false;
    std::unordered_set<std::string> foundIds_;
    std::vector<std::string> arriving_;
};

}  // namespace millrace::gui
