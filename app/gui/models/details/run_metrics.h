#pragma once
// The metrics of one run as a table: newest, best, lowest and highest value, and a small curve.
//
// Threads: the GUI thread. Owns: the values.
#include <string>
#include <vector>

#include "app/gui/models/flat_table.h"
#include "backend/values/metric_line.h"
#include "backend/values/run_summary.h"

namespace millrace::gui {

class RunMetrics : public FlatTable {
    Q_OBJECT

 public:
    enum Column { kName, kTrend, kNewest, kBest, kLowest, kHighest, kNumColumns };
    explicit RunMetrics(QObject* parent = nullptr);

    /// Sets the newest values; known curves are kept if the run is the same.
    void setRun(const values::RunSummary& run, const std::vector<std::string>& names);
    /// Series thinned to their smallest and largest points.
    void setSeries(const std::vector<values::MetricSeries>& series);
    void clear();

    const std::string& metricAt(int row) const { return rows_[static_cast<std::size_t>(row)].name; }
    const std::vector<double>& trendAt(int row) const;
    int rowOf(const std::string& metric) const;  ///< -1: none
    std::vector<std::string> names() const;

 protected:
    int numRows() const override { return static_cast<int>(rows_.size()); }
    QVariant cell(int row, int column, int role) const override;

 private:
    struct Row {
        std::string name;
        double newest, low, high;
        std::int64_t step = 0;
        std::vector<double> trend;
    };
    double value(const Row& row, int column) const;

    std::string runId_;
    std::vector<Row> rows_;
};

}  // namespace millrace::gui
