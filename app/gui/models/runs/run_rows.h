#pragma once
// RunRows: the rows of the Runs page: the run table filtered, sorted, and variations nested under
// their base.
//
// A flat table over RunTable: run_order.h arranges the runs, KeptRows moves the rows, this class
// fills the cells. Changes of the table are reported at once; a new order that they cause follows
// after `kOrderDelayMs`, so that rows do not jump. Only very scattered results, setTable and
// setNested reset the model.
//
// Column 0 is the tick (in the comparison or not); the others are named by the keys of
// run_column.h. Threads: the GUI thread. Owns: order, fold states and ticks. Failure: none.
#include <QString>
#include <QTimer>
#include <optional>
#include <string>
#include <vector>

#include "app/gui/models/runs/kept_rows.h"
#include "app/gui/models/runs/metric_comparison.h"
#include "app/gui/models/runs/run_table.h"
#include "app/gui/models/text_table.h"

namespace millrace::gui {

class RunRows final : public KeptRows {
    Q_OBJECT

 public:
    static constexpr int kTickColumn = 0;
    static constexpr int kOrderDelayMs = 400;

    explicit RunRows(RunTable& table, QObject* parent = nullptr);

    /// Shows another table (deleted runs), which must outlive its use here.
    void setTable(RunTable& table);
    RunTable& table() const { return *table_; }

    /// Sets the columns after the tick, in the order in which they were first requested.
    void setColumns(const std::vector<QString>& keys);
    const std::vector<QString>& columnKeys() const { return keys_; }
    int columnOfKey(const QString& key) const;  ///< -1: not shown
    const RunColumn& columnAt(int column) const;

    void setSort(const QString& key, Qt::SortOrder order);
    const QString& sortKey() const { return order_.sortKey; }
    Qt::SortOrder sortOrder() const { return order_.direction; }

    void setFilter(RunFilter filter);
    /// Runs that match, folded or not; context rows do not count.
    int numMatching() const { return numMatching_; }

    void setNested(bool isNested);
    bool isNested() const { return order_.isNested; }
    void setExpanded(const std::string& id, bool isExpanded);
    bool isExpanded(int row) const;
    void setAllExpanded(bool isExpanded);
    const QSet<QString>& folded() const { return order_.folded; }
    void setFolded(QSet<QString> ids);

    const values::RunSummary& run(int row) const { return table_->run(sourceRow(row)); }
    const std::string& idAt(int row) const { return run(row).id; }
    int rowOf(const std::string& id) const;  ///< -1: not shown
    /// Against the base; nullopt without one, or if one of the values is missing.
    std::optional<BaseDifference> difference(int row, int column) const;

    void setTicked(const std::string& id, bool isTicked);
    void clearTicks();
    bool isTicked(const std::string& id) const;
    const std::vector<std::string>& ticked() const { return ticked_; }

    /// These rows with their ids, in full (times in UTC, durations in seconds), and the parameters
    /// in which they differ.
    TextTable texts(const std::vector<int>& rows, const std::vector<int>& columns) const;

    /// Applies a pending new order now.
    void settle();
    /// Notifies the views that a run's trend columns have changed.
    void announceTrend(const std::string& id);

    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;
    /// Called by the header after a click on a column.
    void sort(int column, Qt::SortOrder order) override;

 Q_SIGNALS:
    void ticksChanged();
    /// numMatching() may have changed.
    void matchesChanged();

 private:
    void follow();
    void takeChanges(int firstSource, int lastSource);
    void takeRemoval(int firstSource, int lastSource);
    void rebuild();
    void resetRows();
    std::vector<RunRow> arranged();
    QString toolTip(int row, int column) const;
    void addDifferent(const std::vector<int>& rows, const std::vector<int>& columns,
                      TextTable& table) const;
    QVariant tickData(int row, int role) const;

    RunTable* table_;
    std::vector<QString> keys_;
    std::vector<int> sources_;  // of the columns: in the table
    RunOrder order_;
    std::vector<std::string> ticked_;
    int numMatching_ = 0;
    QTimer orderTimer_;
    std::vector<QMetaObject::Connection> connections_;
};

}  // namespace millrace::gui
