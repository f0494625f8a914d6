// What the cells of the Runs page say.
#include <algorithm>
#include <cmath>

#include "app/gui/models/metric_facts.h"
#include "app/gui/models/run_rows.h"
#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

using client::RunSummary;
using Verdict = BaseDifference::Verdict;

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

Verdict verdictOf(const std::string& metric, const RunSummary& run, const RunSummary& base,
                  double difference) {
    if (isEvalMetric(metric)) {
        if (run.evalOrderHash.empty() || base.evalOrderHash.empty()) {
            return Verdict::kUnknownRows;
        }
        if (run.evalOrderHash != base.evalOrderHash) {
            return Verdict::kOtherRows;
        }
    }
    if (difference == 0) {
        return Verdict::kSame;
    }
    switch (senseOf(metric)) {
        case MetricSense::kLowerIsBetter:
            return difference < 0 ? Verdict::kBetter : Verdict::kWorse;
        case MetricSense::kHigherIsBetter:
            return difference > 0 ? Verdict::kBetter : Verdict::kWorse;
        default:
            return Verdict::kNeutral;
    }
}

QString sentenceOf(Verdict verdict, double difference, double base) {
    const QString size = numberText(std::abs(difference));
    const QString of = QString(" the base (%1)").arg(numberText(base));
    switch (verdict) {
        case Verdict::kBetter:
            return size + " better than" + of;
        case Verdict::kWorse:
            return size + " worse than" + of;
        case Verdict::kSame:
            return "The same as" + of;
        case Verdict::kOtherRows:
            return "Evaluated on other rows than" + of + ": the figures do not compare";
        case Verdict::kUnknownRows:
            return size + (difference < 0 ? " below" : " above") + of +
                   "; not known yet whether on the same rows";
        case Verdict::kNeutral:
            break;
    }
    return size + (difference < 0 ? " below" : " above") + of;
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
    const double difference = own - other;
    if (!std::isfinite(difference)) {
        return std::nullopt;
    }
    const Verdict verdict = verdictOf(metric, run(row), table_->run(base), difference);
    return BaseDifference{difference, verdict, sentenceOf(verdict, difference, other)};
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
        const std::string& reason = one.exitReason.empty() ? one.queuedReason : one.exitReason;
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
    Qt::ItemFlags flags = QAbstractTableModel::flags(index) | Qt::ItemNeverHasChildren;
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
