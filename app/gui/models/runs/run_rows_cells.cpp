// What the cells of the Runs page say.
#include <algorithm>
#include <cmath>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_diff.h"
#include "app/gui/models/runs/run_rows.h"

namespace millrace::gui {
namespace {

using client::RunSummary;

/// The metric of a column whose values compare; "" for none.
std::string metricOf(const RunColumnFacts& facts) {
    switch (facts.source) {
        case RunColumnSource::kMetric:
        case RunColumnSource::kBest:
        case RunColumnSource::kLow:
        case RunColumnSource::kHigh:
            return facts.name;
        default:
            return facts.key == QLatin1String("rate") ? "samples_per_second" : "";
    }
}

QString fullValue(const RunColumn& column, std::size_t row) {
    const double value = column.number(row);
    if (!column.facts().isNumeric()) {
        QString text = column.text(row);
        return text.replace('\t', ' ').replace('\n', ' ');
    }
    if (std::isnan(value)) {
        return {};
    }
    switch (column.facts().kind) {
        case RunColumnKind::kState:
            return displayText(RunColumnKind::kState, value, 0);
        case RunColumnKind::kTime:
            return fullTimeText(static_cast<std::int64_t>(value));
        case RunColumnKind::kDuration:
            return QString::number(value / 1000, 'f', 3);
        default:
            return QString::number(value, 'g', 17);
    }
}

}  // namespace

std::optional<BaseDifference> RunRows::difference(int row, int column) const {
    if (column <= kTickColumn) {
        return std::nullopt;
    }
    const int base = baseOf(sourceRow(row));
    const RunColumn& values = columnAt(column);
    const std::string metric = metricOf(values.facts());
    if (base < 0 || metric.empty()) {
        return std::nullopt;
    }
    const double own = values.number(static_cast<std::size_t>(sourceRow(row)));
    const double other = values.number(static_cast<std::size_t>(base));
    if (!std::isfinite(own - other)) {
        return std::nullopt;
    }
    return compareMetric(metric, run(row), own, table_->run(base), other, "the base");
}

QString RunRows::tsv(const std::vector<int>& rows, const std::vector<int>& columns) const {
    QString text;
    const auto addLine = [&](auto cellOf) {
        QStringList cells;
        for (const int column : columns) {
            if (column > kTickColumn) {
                cells.append(cellOf(column));
            }
        }
        text += cells.join('\t') + '\n';
    };
    addLine([&](int column) {
        const RunColumnFacts& facts = columnAt(column).facts();
        return facts.kind == RunColumnKind::kDuration ? facts.title + " s" : facts.title;
    });
    for (const int row : rows) {
        addLine([&](int column) {
            return fullValue(columnAt(column), static_cast<std::size_t>(sourceRow(row)));
        });
    }
    return text;
}

int RunRows::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(entries_.size());
}

int RunRows::columnCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(keys_.size()) + 1;
}

QString RunRows::toolTip(int row, int column) const {
    const RunSummary& one = run(row);
    const RunColumn& values = columnAt(column);
    const auto at = static_cast<std::size_t>(sourceRow(row));
    const QString& key = values.facts().key;
    if (key == QLatin1String("state")) {
        const std::string& reason = one.reason();
        return reason.empty() ? displayText(RunColumnKind::kState, values.number(at), 0)
                              : qtext(reason);
    }
    if (values.facts().kind == RunColumnKind::kTime) {
        return fullTimeText(static_cast<std::int64_t>(values.isEmpty(at) ? 0 : values.number(at)));
    }
    if (const auto against = difference(row, column)) {
        return against->sentence;
    }
    return key == QLatin1String("name") || !values.facts().isNumeric() ? values.text(at)
                                                                       : QString();
}

QVariant RunRows::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const int row = index.row(), column = index.column();
    switch (role) {
        case kIdRole:
            return qtext(idAt(row));
        case kDepthRole:
            return depth(row);
        case kIsTickedRole:
            return isTicked(idAt(row));
        case kIsContextRole:
            return isContext(row);
        default:
            break;
    }
    if (column == kTickColumn) {
        return role == Qt::CheckStateRole
                   ? QVariant(isTicked(idAt(row)) ? Qt::Checked : Qt::Unchecked)
               : role == Qt::ToolTipRole
                   ? QVariant(isTicked(idAt(row)) ? "In the comparison (Space takes it out)"
                                                  : "Space adds it to the comparison")
                   : QVariant();
    }
    const auto at = static_cast<std::size_t>(sourceRow(row));
    switch (role) {
        case Qt::DisplayRole:
            return columnAt(column).display(at, table_->now());
        case kSortRole:
            return columnAt(column).sortKey(at);
        case Qt::ToolTipRole:
            return toolTip(row, column);
        case Qt::TextAlignmentRole:
            return table_->data(
                table_->index(sourceRow(row), sources_[static_cast<std::size_t>(column - 1)]),
                role);
        default:
            return {};
    }
}

bool RunRows::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::CheckStateRole || index.column() != kTickColumn || !index.isValid()) {
        return false;
    }
    setTicked(idAt(index.row()), value.toInt() == Qt::Checked);
    return true;
}

Qt::ItemFlags RunRows::flags(const QModelIndex& index) const {
    if (!index.isValid()) {
        return Qt::NoItemFlags;
    }
    const Qt::ItemFlags flags = QAbstractTableModel::flags(index) | Qt::ItemNeverHasChildren;
    return index.column() == kTickColumn ? flags | Qt::ItemIsUserCheckable : flags;
}

QVariant RunRows::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || section < 0 || section >= columnCount()) {
        return {};
    }
    if (section == kTickColumn) {
        return role == Qt::ToolTipRole ? QVariant("In the comparison") : QVariant();
    }
    const RunColumnFacts& facts = columnAt(section).facts();
    switch (role) {
        case Qt::DisplayRole:
            return facts.title;
        case Qt::ToolTipRole:
            return facts.tip;
        case Qt::TextAlignmentRole:
            return QVariant::fromValue((facts.isNumeric() && facts.kind != RunColumnKind::kState
                                            ? Qt::AlignRight
                                            : Qt::AlignLeft) |
                                       Qt::AlignVCenter);
        default:
            return {};
    }
}

}  // namespace millrace::gui
