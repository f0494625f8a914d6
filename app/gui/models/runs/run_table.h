#pragma once
// RunTable: every run of the daemon, in columns: the source of tables, lanes and comparisons.
//
// A QAbstractTableModel over a column store: one typed column per field, metric, parameter or tag,
// created on first use, so that sorting and filtering 10,000 runs touches one column only. Rows
// keep their position as runs change; new runs are appended; removed ones are dropped. Parameters
// are kept if a run is reported again without them (streams have none). Smallest and largest metric
// values come separately (setExtremes): no list of runs has them. Threads: the GUI thread. Failure:
// none; an unknown column is empty.
#include <QAbstractTableModel>
#include <QHash>
#include <QString>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "app/gui/models/runs/run_column.h"
#include "backend/values/run_summary.h"

namespace millrace::gui {

class RunTable : public QAbstractTableModel {
    Q_OBJECT

 public:
    explicit RunTable(QObject* parent = nullptr);
    ~RunTable() override;

    /// Applies a delivery of the bridge: reset, changed, removed (live_values.h has the shape).
    void apply(bool isReset, const std::vector<values::RunSummary>& changed,
               const std::vector<std::string>& removed);
    void clear();

    int numRuns() const { return static_cast<int>(runs_.size()); }
    const values::RunSummary& run(int row) const { return runs_[static_cast<std::size_t>(row)]; }
    /// Null if there is none. Valid until the next change.
    const values::RunSummary* find(const std::string& id) const;
    int rowOf(const std::string& id) const;  ///< -1: none
    int numInState(values::RunState state) const;

    /// The index of a key's column (run_column.h), which is created if it is new.
    int columnOf(const QString& key);
    const RunColumn& column(int index) const { return *columns_[static_cast<std::size_t>(index)]; }

    /// "" if the run has no such parameter.
    QString param(int row, const std::string& name) const;
    /// The parameters whose names begin with `prefix`.
    std::map<std::string, std::string> params(int row, const QString& prefix) const;
    /// Sets the smallest and largest value of a metric over the whole run.
    void setExtremes(const std::string& id, const std::string& metric, double low, double high);
    bool hasExtremes(int row, const std::string& metric) const;

    /// Names that at least one run has, for choosers and completion.
    std::vector<std::string> metricNames() const;
    std::vector<std::string> paramNames() const;
    std::vector<std::string> tagNames() const;

    /// The clock for durations: those of running runs grow.
    void setNow(std::int64_t nowMs);
    std::int64_t now() const { return nowMs_; }

    // QAbstractTableModel
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

 private:
    struct Range {
        double low = kNoNumber, high = kNoNumber;
    };
    using ParamCodes = std::vector<std::pair<int, int>>;  ///< name and value, sorted by name
    struct Pool {
        QHash<QString, int> codes;
        std::vector<QString> texts;
        int codeOf(const QString& text);
    };

    void keepOnly(const std::vector<values::RunSummary>& runs);
    void removeRuns(const std::vector<std::string>& ids);
    void change(const std::vector<values::RunSummary>& changed);
    void appendRuns(const std::vector<const values::RunSummary*>& runs);
    void store(int row, const values::RunSummary& run);
    void takeParams(int row, const values::RunSummary& run);
    void fill(RunColumn& column, int row) const;
    void fillRow(int row);
    void announce(std::vector<int> rows);
    void reindex(int firstRow);
    Range extremes(int row, const std::string& metric) const;

    std::vector<values::RunSummary> runs_;
    std::vector<ParamCodes> params_;
    std::unordered_map<std::string, int> rows_;
    std::unordered_map<std::string, std::unordered_map<std::string, Range>> extremes_;  // by metric
    std::vector<std::unique_ptr<RunColumn>> columns_;
    QHash<QString, int> columnOf_;
    Pool paramNames_, paramValues_;
    std::vector<int> numInState_;
    std::int64_t nowMs_ = 0;
};

}  // namespace millrace::gui
