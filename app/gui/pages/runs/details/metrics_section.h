#pragma once
// The metrics of one run: a table with newest and extreme values, and charts of the selected ones.
//
// Threads: the GUI thread. Failure: without an answer the table has the newest values only.
#include <QSettings>
#include <QWidget>
#include <string>

#include "backend/values/run_summary.h"

class QSplitter;
class QTableView;

namespace millrace::gui {

class ChartBoard;
class DaemonBridge;
class RunColors;
class RunMetrics;

class MetricsSection final : public QWidget {
    Q_OBJECT

 public:
    MetricsSection(DaemonBridge& daemon, const RunColors& colors, QWidget* parent);

    void showRun(const values::RunSummary& run, const std::vector<std::string>& names);
    void clear();
    bool isSettled() const;
    RunMetrics& model() const { return *model_; }
    ChartBoard& board() const { return *board_; }
    QTableView& table() const { return *table_; }
    void save(QSettings& settings) const;
    void restore(QSettings& settings);

 private:
    void buildTable();
    void fetch(const values::RunSummary& run);

    DaemonBridge& daemon_;
    RunMetrics* model_;
    QTableView* table_;
    ChartBoard* board_ = nullptr;
    QSplitter* splitter_;
    std::string runId_;
    std::int64_t step_ = -1;
    std::size_t numNames_ = 0;
    int numOpen_ = 0;
};

}  // namespace millrace::gui
