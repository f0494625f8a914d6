#pragma once
// The metrics of one run: newest, best, lowest and highest value, and a small curve.
//
// Threads: the GUI thread. Owns: the values.
#include <QAbstractTableModel>
#include <string>
#include <vector>

#include "backend/values/metric_line.h"
#include "backend/values/run_summary.h"

namespace millrace::gui {

class RunMetrics : public QAbstractTableModel {
    Q_OBJECT

 public:
    enum Column { kName, kTrend, kNewest, kBest, kLowest, kHighest, kNumColumns };
    using QAbstractTableModel::QAbstractTableModel;

    /// The newest values; curves that are known stay where it is the same run.
    void setRun(const values::RunSummary& run, const std::vector<std::string>& names);
    /// Thinned with least and greatest points kept.
    void setSeries(const std::vector<values::MetricSeries>& series);
    void clear();

    const std::string& metricAt(int row) const { return rows_[static_cast<std::size_t>(row)].name; }
    const std::vector<double>& trendAt(int row) const;
    int rowOf(const std::string& metric) const;  ///< -1: none
    std::vector<std::string> names() const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

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
