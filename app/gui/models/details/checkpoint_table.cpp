#include "app/gui/models/details/checkpoint_table.h"

#include <QFileInfo>
#include <algorithm>

#include "app/gui/models/run_text.h"

namespace millrace::gui {

void CheckpointTable::setCheckpoints(std::vector<client::Checkpoint> checkpoints) {
    std::stable_sort(checkpoints.begin(), checkpoints.end(),
                     [](const auto& a, const auto& b) { return a.step > b.step; });
    const bool isSame = std::equal(
        checkpoints.begin(), checkpoints.end(), checkpoints_.begin(), checkpoints_.end(),
        [](const auto& a, const auto& b) { return a.step == b.step && a.path == b.path; });
    if (isSame) {
        return;
    }
    beginResetModel();
    checkpoints_ = std::move(checkpoints);
    endResetModel();
}

int CheckpointTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(checkpoints_.size());
}

int CheckpointTable::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(kNumColumns);
}

QVariant CheckpointTable::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const client::Checkpoint& one = at(index.row());
    if (role == Qt::TextAlignmentRole) {
        const bool isNumber = index.column() == kStep || index.column() == kSize;
        return QVariant::fromValue((isNumber ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    }
    if (role == Qt::ToolTipRole && index.column() == kPath) {
        return qtext(one.path + "\nhash " + one.hash);
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    switch (index.column()) {
        case kStep:
            return countText(static_cast<double>(one.step));
        case kTime:
            return fullTimeText(one.timeMs);
        case kSize:
            return bytesText(static_cast<double>(one.bytes));
        case kAttempt:
            return one.attempt;
        default:
            return QFileInfo(qtext(one.path)).fileName();
    }
}

QVariant CheckpointTable::headerData(int section, Qt::Orientation orientation, int role) const {
    static const char* const kTitles[] = {"Step", "Written", "Size", "Attempt", "File"};
    if (orientation != Qt::Horizontal || section < 0 || section >= kNumColumns) {
        return {};
    }
    return role == Qt::DisplayRole ? QVariant(kTitles[section]) : QVariant();
}

}  // namespace millrace::gui
