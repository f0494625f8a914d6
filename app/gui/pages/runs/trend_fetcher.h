#pragma once
// TrendFetcher: fetches the small curves and the smallest and largest values that visible rows
// show.
//
// A few requests at a time, the visible rows first; active runs are fetched again after a while.
// When the table is sorted by a best value, runs that were never visible are fetched in the
// background. Threads: the GUI thread. Failure: a run that cannot be read stays without a curve and
// is retried when it becomes visible again.
#include <QElapsedTimer>
#include <QObject>
#include <QTimer>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "app/gui/models/runs/run_trends.h"
#include "backend/values/metric_line.h"

namespace millrace::gui {

class DaemonBridge;
class RunRows;

class TrendFetcher final : public QObject {
    Q_OBJECT

 public:
    TrendFetcher(DaemonBridge& daemon, RunRows& rows, RunTrends& trends, QObject* parent);

    /// These rows are visible; more of them come first next time.
    void look(int firstRow, int lastRow);
    /// Forgets pending requests (another daemon).
    void clear();
    bool isSettled() const { return inFlight_.empty() && queue_.empty() && !timer_.isActive(); }

 private:
    void fill();
    void fillRow(int row);
    void fillUnseen();
    std::vector<std::string> metricsOf(const values::RunSummary& run) const;
    void put(const std::string& run, const std::string& metric, RunTrend trend,
             const values::MetricHistory& history);
    bool isWanted(int row, const std::string& metric) const;
    void send();
    void ask(const std::string& run);

    DaemonBridge& daemon_;
    RunRows& rows_;
    RunTrends& trends_;
    QTimer timer_;
    int firstRow_ = 0, lastRow_ = -1;
    std::vector<std::string> queue_;  ///< the last is fetched first
    std::set<std::string> inFlight_;
    std::map<std::string, qint64> askedMs_;
    QElapsedTimer clock_;
    int epoch_ = 0;
};

}  // namespace millrace::gui
