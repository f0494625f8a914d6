#pragma once
// The checkpoints of one run, the newest first.
//
// Threads: the GUI thread.
#include <QAbstractTableModel>
#include <vector>

#include "app/client/daemon_values.h"

namespace millrace::gui {

class CheckpointTable : public QAbstractTableModel {
    Q_OBJECT

 public:
    enum Column { kStep, kTime, kSize, kAttempt, kPath, kNumColumns };
    using QAbstractTableModel::QAbstractTableModel;

    void setCheckpoints(std::vector<client::Checkpoint> checkpoints);
    const client::Checkpoint& at(int row) const {
        return checkpoints_[static_cast<std::size_t>(row)];
    }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    QVariant headerData(int section, Qt::Orientation orientation,
                        int role = Qt::DisplayRole) const override;

 private:
    std::vector<client::Checkpoint> checkpoints_;
};

}  // namespace millrace::gui
