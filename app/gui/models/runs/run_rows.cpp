#include "app/gui/models/runs/run_rows.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/metric_facts.h"
#include "backend/core/clock.h"

namespace millrace::gui {

using values::RunSummary;

namespace {

/// The metric of a column whose values can be compared; "" for none.
std::string metricOf(const RunColumnInfo& facts) {
    switch (facts.source) {
        case RunColumnSource::kMetric:
        case RunColumnSource::kBest:
        case RunColumnSource::kLow:
        case RunColumnSource::kHigh:
            return facts.name;
        default:
            return facts.key == QLatin1String("rate") ? metric::kSamplesPerSecond : "";
    }
}

QString fullValue(const RunColumn& column, std::size_t row) {
    const double value = column.number(row);
    if (!column.facts().isNumeric()) {
        return column.text(row);
    }
    if (std::isnan(value)) {
        return {};
    }
    switch (column.facts().kind) {
        case RunColumnKind::kState:
            return displayText(RunColumnKind::kState, value, 0);
        case RunColumnKind::kTime:
            return value > 0 ? qtext(formatTime(static_cast<std::int64_t>(value))) : QString();
        case RunColumnKind::kDuration:
            return QString::number(value / 1000, 'f', 3);
        default:
            return QString::number(value, 'g', 17);
    }
}

}  // namespace

RunRows::RunRows(RunTable& table, QObject* parent) : KeptRows(parent), table_(&table) {
    orderTimer_.setSingleShot(true);
    orderTimer_.setInterval(kOrderDelayMs);
    connect(&orderTimer_, &QTimer::timeout, this, [this] { rebuild(); });
    follow();
    rebuild();
}

void RunRows::setTable(RunTable& table) {
    if (table_ == &table) {
        return;
    }
    for (const QMetaObject::Connection& connection : connections_) {
        disconnect(connection);
    }
    resetTo([this, &table] {
        table_ = &table;
        for (std::size_t i = 0; i < keys_.size(); ++i) {
            sources_[i] = table_->columnOf(keys_[i]);
        }
        return arranged();
    });
    follow();
    Q_EMIT matchesChanged();
}

void RunRows::follow() {
    connections_ = {
        connect(table_, &QAbstractItemModel::dataChanged, this,
                [this](const QModelIndex& first, const QModelIndex& last) {
                    takeChanges(first.row(), last.row());
                }),
        connect(table_, &QAbstractItemModel::rowsInserted, this, [this] { rebuild(); }),
        // Two steps: the rows leave the views while their runs still exist, then the numbers of
        // later runs move up.
        connect(table_, &QAbstractItemModel::rowsAboutToBeRemoved, this,
                [this](const QModelIndex&, int first, int last) { takeRemoval(first, last); }),
        connect(table_, &QAbstractItemModel::rowsRemoved, this,
                [this](const QModelIndex&, int first, int last) {
                    shiftSources(first, last - first + 1);
                    rebuild();
                }),
        connect(table_, &QAbstractItemModel::modelReset, this, [this] { resetRows(); }),
    };
}

void RunRows::takeChanges(int firstSource, int lastSource) {
    std::vector<int> changed;
    for (int source = firstSource; source <= lastSource; ++source) {
        const int row = rowOfSource(source);
        if (row < 0) {
            continue;
        }
        changed.push_back(row);
        // The differences of its variations depend on a base's value.
        for (int below = row + 1; below < rowCount() && depth(below) > depth(row); ++below) {
            changed.push_back(below);
        }
    }
    std::ranges::sort(changed);
    announce(changed);
    // Not restarted: under a steady stream of changes the order still follows after kOrderDelayMs.
    if (!orderTimer_.isActive()) {
        orderTimer_.start();
    }
}

void RunRows::takeRemoval(int firstSource, int lastSource) {
    removeSources(firstSource, lastSource);
    std::size_t numGone = 0;
    for (int source = firstSource; source <= lastSource; ++source) {
        numGone += std::erase(ticked_, table_->run(source).id);
    }
    if (numGone > 0) {
        Q_EMIT ticksChanged();
    }
}

std::vector<RunRow> RunRows::arranged() {
    ArrangedRuns arranged = arrangeRuns(*table_, order_);
    numMatching_ = arranged.numMatching;
    return std::move(arranged.rows);
}

void RunRows::rebuild() {
    orderTimer_.stop();
    const int before = numMatching_;
    moveTo(arranged());
    if (numMatching_ != before) {
        Q_EMIT matchesChanged();
    }
}

void RunRows::resetRows() {
    resetTo([this] { return arranged(); });
    Q_EMIT matchesChanged();
    if (std::erase_if(ticked_, [this](const std::string& id) { return table_->rowOf(id) < 0; }) >
        0) {
        Q_EMIT ticksChanged();
    }
}

void RunRows::settle() {
    if (orderTimer_.isActive()) {
        rebuild();
    }
}

void RunRows::setColumns(const std::vector<QString>& keys) {
    // Columns are removed and appended, never moved: the header's sections keep their widths and
    // the order that the user gave them.
    for (std::size_t i = keys_.size(); i-- > 0;) {
        if (std::ranges::find(keys, keys_[i]) == keys.end()) {
            const int column = static_cast<int>(i) + 1;
            beginRemoveColumns({}, column, column);
            keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(i));
            sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(i));
            endRemoveColumns();
        }
    }
    for (const QString& key : keys) {
        if (std::ranges::find(keys_, key) == keys_.end()) {
            const int source = table_->columnOf(key);
            const int column = columnCount();
            beginInsertColumns({}, column, column);
            keys_.push_back(key);
            sources_.push_back(source);
            endInsertColumns();
        }
    }
}

int RunRows::columnOfKey(const QString& key) const {
    const auto found = std::ranges::find(keys_, key);
    return found == keys_.end() ? -1 : static_cast<int>(found - keys_.begin()) + 1;
}

const RunColumn& RunRows::columnAt(int column) const {
    return table_->column(sources_[static_cast<std::size_t>(column - 1)]);
}

void RunRows::setSort(const QString& key, Qt::SortOrder direction) {
    order_.sortKey = key;
    order_.direction = direction;
    rebuild();
    if (const int column = columnOfKey(key); column > 0) {
        Q_EMIT headerDataChanged(Qt::Horizontal, column, column);
    }
}

void RunRows::sort(int column, Qt::SortOrder direction) {
    if (column > kTickColumn && column < columnCount()) {
        setSort(keys_[static_cast<std::size_t>(column - 1)], direction);
    }
}

void RunRows::setFilter(RunFilter filter) {
    order_.filter = std::move(filter);
    rebuild();
}

void RunRows::setNested(bool isNested) {
    if (order_.isNested != isNested) {
        order_.isNested = isNested;
        resetRows();
    }
}

void RunRows::setExpanded(const std::string& id, bool isExpanded) {
    QSet<QString>& folded = order_.folded;
    if (isExpanded ? !folded.remove(qtext(id)) : folded.contains(qtext(id))) {
        return;
    }
    if (!isExpanded) {
        folded.insert(qtext(id));
    }
    rebuild();
    if (const int row = rowOf(id); row >= 0) {
        announce({row});
    }
}

void RunRows::setAllExpanded(bool isExpanded) {
    order_.folded.clear();
    if (!isExpanded) {
        for (const RunRow& row : rows()) {
            if (row.numVariations > 0) {
                order_.folded.insert(qtext(table_->run(row.source).id));
            }
        }
    }
    rebuild();
}

void RunRows::setFolded(QSet<QString> ids) {
    order_.folded = std::move(ids);
    rebuild();
}

bool RunRows::isExpanded(int row) const {
    return numVariations(row) > 0 && !order_.folded.contains(qtext(idAt(row)));
}

int RunRows::rowOf(const std::string& id) const {
    return rowOfSource(table_->rowOf(id));
}

void RunRows::setTicked(const std::string& id, bool isTicked) {
    const auto found = std::ranges::find(ticked_, id);
    if ((found != ticked_.end()) == isTicked) {
        return;
    }
    if (isTicked) {
        ticked_.push_back(id);
    } else {
        ticked_.erase(found);
    }
    if (const int row = rowOf(id); row >= 0) {
        Q_EMIT dataChanged(index(row, kTickColumn), index(row, kTickColumn));
    }
    Q_EMIT ticksChanged();
}

void RunRows::clearTicks() {
    if (ticked_.empty()) {
        return;
    }
    ticked_.clear();
    if (rowCount() > 0) {
        Q_EMIT dataChanged(index(0, kTickColumn), index(rowCount() - 1, kTickColumn));
    }
    Q_EMIT ticksChanged();
}

bool RunRows::isTicked(const std::string& id) const {
    return std::ranges::find(ticked_, id) != ticked_.end();
}

void RunRows::announceTrend(const std::string& id) {
    const int row = rowOf(id);
    if (row >= 0 && columnCount() > 1) {
        Q_EMIT dataChanged(index(row, 1), index(row, columnCount() - 1));
    }
}

std::optional<BaseDifference> RunRows::difference(int row, int column) const {
    if (column <= kTickColumn) {
        return std::nullopt;
    }
    const int base = baseOfRun(*table_, sourceRow(row));
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
    // Only the labels matter: other labels make a metric incomparable.
    const QString labels = QStringLiteral("labels.");
    return compareMetric(metric, {run(row), table_->params(sourceRow(row), labels), own},
                         {table_->run(base), table_->params(base, labels), other}, tr("the base"));
}

TextTable RunRows::texts(const std::vector<int>& rows, const std::vector<int>& columns) const {
    TextTable table;
    table.header.append(QStringLiteral("id"));
    std::vector<int> wanted;
    for (const int column : columns) {
        if (column > kTickColumn && columnAt(column).facts().key != QLatin1String("id")) {
            const RunColumnInfo& facts = columnAt(column).facts();
            wanted.push_back(column);
            table.header.append(facts.kind == RunColumnKind::kDuration ? tr("%1 s").arg(facts.title)
                                                                       : facts.title);
        }
    }
    for (const int row : rows) {
        QStringList& cells = table.rows.emplace_back(qtext(idAt(row)));
        for (const int column : wanted) {
            cells.append(fullValue(columnAt(column), static_cast<std::size_t>(sourceRow(row))));
        }
    }
    addDifferent(rows, columns, table);
    return table;
}

// Adds parameters that differ between the rows and are not columns already.
void RunRows::addDifferent(const std::vector<int>& rows, const std::vector<int>& columns,
                           TextTable& table) const {
    std::map<std::string, QStringList> values;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        // A run without the parameter has an empty cell, which differs from any value.
        for (const auto& [key, value] : table_->params(sourceRow(rows[i]), QString())) {
            QStringList& cells = values[key];
            cells.resize(static_cast<qsizetype>(rows.size()));
            cells[static_cast<qsizetype>(i)] = qtext(value);
        }
    }
    for (const auto& [key, cells] : values) {
        const int column = columnOfKey("param:" + qtext(key));
        const bool isShown = std::ranges::find(columns, column) != columns.end();
        if (!isShown && std::ranges::count(cells, cells.front()) != cells.size()) {
            table.header.append("params." + qtext(key));
            for (std::size_t i = 0; i < rows.size(); ++i) {
                table.rows[i].append(cells[static_cast<qsizetype>(i)]);
            }
        }
    }
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

QVariant RunRows::tickData(int row, int role) const {
    const bool isOn = isTicked(idAt(row));
    switch (role) {
        case Qt::CheckStateRole:
            return isOn ? Qt::Checked : Qt::Unchecked;
        case Qt::ToolTipRole:
            return isOn ? tr("In the comparison (Space takes it out)")
                        : tr("Space adds it to the comparison");
        default:
            return {};
    }
}

QVariant RunRows::data(const QModelIndex& index, int role) const {
    if (!checkIndex(index, CheckIndexOption::IndexIsValid)) {
        return {};
    }
    const int row = index.row(), column = index.column();
    if (column == kTickColumn) {
        return tickData(row, role);
    }
    const auto at = static_cast<std::size_t>(sourceRow(row));
    switch (role) {
        case Qt::DisplayRole:
            return columnAt(column).display(at, table_->now());
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
        return role == Qt::ToolTipRole ? QVariant(tr("In the comparison")) : QVariant();
    }
    const RunColumnInfo& facts = columnAt(section).facts();
    switch (role) {
        case Qt::DisplayRole:
            return facts.title;
        case Qt::ToolTipRole:
            return QString(facts.title + QLatin1Char('\n') + facts.tip);
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
