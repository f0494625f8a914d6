#pragma once
// Every run of the daemon, in columns: what tables, lanes and comparisons read from.
//
// A QAbstractTableModel over a column store: one typed column a field, metric, parameter or tag,
// made when somebody asks for it, so that sorting and filtering 10,000 runs touch one column only.
// Rows keep their place as runs change; new runs are appended; removed ones leave. Threads: the GUI
// thread. Failure: none; an unknown column is empty.
#include <QAbstractTableModel>
#include <memory>
#include <string>
#include <vector>

#include "app/client/daemon_values.h"

namespace millrace::gui {

class RunTable : public QAbstractTableModel {
    Q_OBJECT

 public:
    explicit RunTable(QObject* parent = nullptr);
    ~RunTable() override;

    /// Applies a delivery of the bridge: reset, changed, removed (live_values.h has the shape).
    void apply(bool isReset, const std::vector<client::RunSummary>& changed,
               const std::vector<std::string>& removed);
    void clear();

    int numRuns() const;
    const client::RunSummary& run(int row) const;
    /// Null where there is none. Valid until the next change.
    const client::RunSummary* find(const std::string& id) const;
    int rowOf(const std::string& id) const;  ///< -1: none
    int numInState(client::RunState state) const;

    // QAbstractTableModel
    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

 private:
    struct Columns;
    std::unique_ptr<Columns> columns_;
};

}  // namespace millrace::gui
