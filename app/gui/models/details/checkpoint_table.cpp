#include "app/gui/models/details/checkpoint_table.h"

#include <QFileInfo>
#include <algorithm>
#include <iterator>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

constexpr FlatTable::ColumnSpec kColumns[] = {{word::kStep.label, Qt::AlignRight},
                                              {word::kWritten.label},
                                              {word::kSize.label, Qt::AlignRight},
                                              {word::kAttempt.label},
                                              {word::kPath.label}};
static_assert(std::size(kColumns) == CheckpointTable::kNumColumns);

}  // namespace

CheckpointTable::CheckpointTable(QObject* parent) : FlatTable(kColumns, parent) {}

void CheckpointTable::setCheckpoints(std::vector<values::Checkpoint> checkpoints) {
    std::ranges::stable_sort(checkpoints,
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

QVariant CheckpointTable::cell(int row, int column, int role) const {
    const values::Checkpoint& one = at(row);
    if (role == Qt::ToolTipRole && column == kPath) {
        return tr("%1\nhash %2").arg(qtext(one.path), qtext(one.hash));
    }
    if (role != Qt::DisplayRole) {
        return {};
    }
    switch (column) {
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

}  // namespace millrace::gui
