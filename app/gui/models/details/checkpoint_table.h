#pragma once
// The checkpoints of one run as a table, the newest first.
//
// Threads: the GUI thread.
#include <vector>

#include "app/gui/models/flat_table.h"
#include "backend/values/run_detail.h"

namespace millrace::gui {

class CheckpointTable : public FlatTable {
    Q_OBJECT

 public:
    enum Column { kStep, kTime, kSize, kAttempt, kPath, kNumColumns };
    explicit CheckpointTable(QObject* parent = nullptr);

    void setCheckpoints(std::vector<values::Checkpoint> checkpoints);
    const values::Checkpoint& at(int row) const {
        return checkpoints_[static_cast<std::size_t>(row)];
    }

 protected:
    int numRows() const override { return static_cast<int>(checkpoints_.size()); }
    QVariant cell(int row, int column, int role) const override;

 private:
    std::vector<values::Checkpoint> checkpoints_;
};

}  // namespace millrace::gui
