#include "app/gui/models/runs/run_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/gui/models/run_text.h"

namespace millrace::gui {

using client::RunSummary;

RunRows::RunRows(RunTable& table, QObject* parent) : QAbstractTableModel(parent), table_(&table) {
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
    beginResetModel();
    table_ = &table;
    entries_.clear();
    rowOfSource_.clear();
    for (std::size_t i = 0; i < keys_.size(); ++i) {
        sources_[i] = table_->columnOf(keys_[i]);
    }
    follow();
    entries_ = wanted();
    indexRows();
    endResetModel();
    Q_EMIT matchesChanged();
}

void RunRows::follow() {
    connections_ = {
        connect(table_, &QAbstractItemModel::dataChanged, this,
                [this](const QModelIndex& first, const QModelIndex& last) {
                    takeChanges(first, last);
                }),
        connect(table_, &QAbstractItemModel::rowsInserted, this, [this] { rebuild(); }),
        connect(table_, &QAbstractItemModel::rowsAboutToBeRemoved, this,
                [this](const QModelIndex&, int first, int last) { takeRemoval(first, last); }),
        connect(table_, &QAbstractItemModel::rowsRemoved, this,
                [this](const QModelIndex&, int first, int last) {
                    shiftSources(first, last - first + 1);
                    rebuild();
                }),
        connect(table_, &QAbstractItemModel::modelReset, this, [this] { reset(wanted()); }),
    };
}

void RunRows::setColumns(const std::vector<QString>& keys) {
    for (std::size_t i = keys_.size(); i-- > 0;) {
        if (std::find(keys.begin(), keys.end(), keys_[i]) == keys.end()) {
            const int column = static_cast<int>(i) + 1;
            beginRemoveColumns({}, column, column);
            keys_.erase(keys_.begin() + static_cast<std::ptrdiff_t>(i));
            sources_.erase(sources_.begin() + static_cast<std::ptrdiff_t>(i));
            endRemoveColumns();
        }
    }
    for (const QString& key : keys) {
        if (std::find(keys_.begin(), keys_.end(), key) == keys_.end()) {
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
    const auto found = std::find(keys_.begin(), keys_.end(), key);
    return found == keys_.end() ? -1 : static_cast<int>(found - keys_.begin()) + 1;
}

const RunColumn& RunRows::columnAt(int column) const {
    return table_->column(sources_[static_cast<std::size_t>(column - 1)]);
}

void RunRows::setSort(const QString& key, Qt::SortOrder order) {
    sortKey_ = key;
    sortOrder_ = order;
    rebuild();
    if (const int column = columnOfKey(key); column > 0) {
        Q_EMIT headerDataChanged(Qt::Horizontal, column, column);
    }
}

void RunRows::sort(int column, Qt::SortOrder order) {
    if (column > kTickColumn && column < columnCount()) {
        setSort(keys_[static_cast<std::size_t>(column - 1)], order);
    }
}

void RunRows::setFilter(RunFilter filter) {
    filter_ = std::move(filter);
    rebuild();
}

void RunRows::setNested(bool isNested) {
    if (isNested_ != isNested) {
        isNested_ = isNested;
        reset(wanted());
    }
}

void RunRows::setExpanded(const std::string& id, bool isExpanded) {
    if (isExpanded ? !folded_.remove(qtext(id)) : folded_.contains(qtext(id))) {
        return;
    }
    if (!isExpanded) {
        folded_.insert(qtext(id));
    }
    rebuild();
    if (const int row = rowOf(id); row >= 0) {
        Q_EMIT dataChanged(index(row, 0), index(row, columnCount() - 1));
    }
}

void RunRows::setAllExpanded(bool isExpanded) {
    folded_.clear();
    if (!isExpanded) {
        for (const Entry& entry : entries_) {
            if (entry.numVariations > 0) {
                folded_.insert(qtext(table_->run(entry.source).id));
            }
        }
    }
    rebuild();
}

void RunRows::setFolded(QSet<QString> ids) {
    folded_ = std::move(ids);
    rebuild();
}

bool RunRows::isExpanded(int row) const {
    return numVariations(row) > 0 && !folded_.contains(qtext(idAt(row)));
}

int RunRows::numVariations(int row) const {
    return entries_[static_cast<std::size_t>(row)].numVariations;
}

const RunSummary& RunRows::run(int row) const {
    return table_->run(sourceRow(row));
}

int RunRows::rowOf(const std::string& id) const {
    const int source = table_->rowOf(id);
    return source < 0 || source >= static_cast<int>(rowOfSource_.size())
               ? -1
               : rowOfSource_[static_cast<std::size_t>(source)];
}

int RunRows::baseOf(int source) const {
    const RunSummary& run = table_->run(source);
    const int base = run.variationOf.empty() ? -1 : table_->rowOf(run.variationOf);
    return base == source || (base >= 0 && !table_->run(base).variationOf.empty()) ? -1 : base;
}

bool RunRows::matchesWords(int source) const {
    const RunSummary& run = table_->run(source);
    const auto at = static_cast<std::size_t>(source);
    const QString& name = table_->column(table_->columnOf("name")).text(at);
    const QString& variation = table_->column(table_->columnOf("variation")).text(at);
    return std::all_of(filter_.words.begin(), filter_.words.end(), [&](const QString& word) {
        return name.contains(word, Qt::CaseInsensitive) ||
               variation.contains(word, Qt::CaseInsensitive) ||
               qtext(run.id).contains(word, Qt::CaseInsensitive);
    });
}

std::vector<char> RunRows::matches() const {
    std::vector<char> result(static_cast<std::size_t>(table_->numRuns()), 1);
    if (filter_.isEmpty()) {
        return result;
    }
    for (int source = 0; source < table_->numRuns(); ++source) {
        const RunSummary& run = table_->run(source);
        const bool isMatch = (filter_.states.empty() || filter_.states.count(run.state) > 0) &&
                             (!filter_.ids || filter_.ids->count(run.id) > 0) &&
                             matchesWords(source);
        result[static_cast<std::size_t>(source)] = isMatch ? 1 : 0;
    }
    return result;
}

// By the sorted column, empty values last whatever the order, of equals the newest first.
std::vector<int> RunRows::sortedRows() const {
    struct Key {
        double value;
        std::int64_t createdMs;
        int row;
    };
    const RunColumn& column = table_->column(table_->columnOf(sortKey_));
    const double sign = sortOrder_ == Qt::AscendingOrder ? 1 : -1;
    std::vector<Key> keys;
    keys.reserve(static_cast<std::size_t>(table_->numRuns()));
    for (int row = 0; row < table_->numRuns(); ++row) {
        keys.push_back({sign * column.sortKey(static_cast<std::size_t>(row)),
                        table_->run(row).createdMs, row});
    }
    std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
        const bool isNoneA = std::isnan(a.value), isNoneB = std::isnan(b.value);
        if (isNoneA != isNoneB) {
            return isNoneB;
        }
        if (!isNoneA && a.value != b.value) {
            return a.value < b.value;
        }
        return a.createdMs != b.createdMs ? a.createdMs > b.createdMs : a.row < b.row;
    });
    std::vector<int> rows;
    rows.reserve(keys.size());
    for (const Key& key : keys) {
        rows.push_back(key.row);
    }
    return rows;
}

void RunRows::sortAsSubmitted(std::vector<int>& variations) const {
    std::sort(variations.begin(), variations.end(), [this](int a, int b) {
        const RunSummary &runA = table_->run(a), &runB = table_->run(b);
        return runA.createdMs != runB.createdMs ? runA.createdMs < runB.createdMs
                                                : runA.uid < runB.uid;
    });
}

std::vector<RunRows::Entry> RunRows::wanted() {
    const std::vector<char> isMatch = matches();
    numMatching_ = static_cast<int>(std::count(isMatch.begin(), isMatch.end(), 1));
    std::vector<std::vector<int>> variations(isMatch.size());
    std::vector<char> isNestedRow(isMatch.size(), 0);
    const std::vector<int> sorted = sortedRows();
    for (const int row : sorted) {
        const auto at = static_cast<std::size_t>(row);
        const int base = isNested_ && isMatch[at] ? baseOf(row) : -1;
        if (base >= 0) {
            variations[static_cast<std::size_t>(base)].push_back(row);
            isNestedRow[at] = 1;
        }
    }
    std::vector<Entry> entries;
    for (const int row : sorted) {
        const auto at = static_cast<std::size_t>(row);
        std::vector<int>& below = variations[at];
        if (isNestedRow[at] || (!isMatch[at] && below.empty())) {
            continue;
        }
        entries.push_back({row, 0, static_cast<int>(below.size()), !isMatch[at]});
        if (sortKey_ == QLatin1String("created")) {
            sortAsSubmitted(below);
        }
        if (!below.empty() && !folded_.contains(qtext(table_->run(row).id))) {
            for (const int variation : below) {
                entries.push_back({variation, 1, 0, false});
            }
        }
    }
    return entries;
}

void RunRows::setTicked(const std::string& id, bool isTicked) {
    const auto found = std::find(ticked_.begin(), ticked_.end(), id);
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
    if (!entries_.empty()) {
        Q_EMIT dataChanged(index(0, kTickColumn), index(rowCount() - 1, kTickColumn));
    }
    Q_EMIT ticksChanged();
}

bool RunRows::isTicked(const std::string& id) const {
    return std::find(ticked_.begin(), ticked_.end(), id) != ticked_.end();
}

void RunRows::announceTrend(const std::string& id) {
    const int row = rowOf(id);
    if (row >= 0 && columnCount() > 1) {
        Q_EMIT dataChanged(index(row, 1), index(row, columnCount() - 1));
    }
}

void RunRows::settle() {
    if (orderTimer_.isActive()) {
        orderTimer_.stop();
        rebuild();
    }
}

}  // namespace millrace::gui
