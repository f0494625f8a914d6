// How the rows get from one order to the next: removals, one permutation, insertions.
#include <algorithm>
#include <numeric>
#include <utility>

#include "app/gui/models/runs/run_rows.h"

namespace millrace::gui {
namespace {

/// With more separate stretches than this to remove or insert, a reset is cheaper for the views.
constexpr int kMostStretches = 96;

}  // namespace

void RunRows::takeChanges(const QModelIndex& first, const QModelIndex& last) {
    std::vector<int> rows;
    for (int source = first.row(); source <= last.row(); ++source) {
        if (source >= static_cast<int>(rowOfSource_.size())) {
            break;
        }
        const int row = rowOfSource_[static_cast<std::size_t>(source)];
        if (row >= 0) {
            rows.push_back(row);
        }
        // A base's value is in the differences of its variations.
        for (int below = row + 1; row >= 0 && below < rowCount() && depth(below) > depth(row);
             ++below) {
            rows.push_back(below);
        }
    }
    std::sort(rows.begin(), rows.end());
    for (std::size_t i = 0; i < rows.size();) {
        std::size_t end = i + 1;
        while (end < rows.size() && rows[end] <= rows[end - 1] + 1) {
            ++end;
        }
        Q_EMIT dataChanged(index(rows[i], 0), index(rows[end - 1], columnCount() - 1));
        i = end;
    }
    if (!orderTimer_.isActive()) {
        orderTimer_.start();
    }
}

void RunRows::takeRemoval(int first, int last) {
    for (int row = rowCount() - 1; row >= 0; --row) {
        const int end = row;
        while (row >= 0 && sourceRow(row) >= first && sourceRow(row) <= last) {
            --row;
        }
        if (row < end) {
            beginRemoveRows({}, row + 1, end);
            entries_.erase(entries_.begin() + row + 1, entries_.begin() + end + 1);
            indexRows();
            endRemoveRows();
        }
    }
    const std::size_t numTicked = ticked_.size();
    for (int source = first; source <= last; ++source) {
        const auto found = std::find(ticked_.begin(), ticked_.end(), table_->run(source).id);
        if (found != ticked_.end()) {
            ticked_.erase(found);
        }
    }
    if (ticked_.size() != numTicked) {
        Q_EMIT ticksChanged();
    }
}

void RunRows::shiftSources(int first, int count) {
    for (Entry& entry : entries_) {
        if (entry.source > first) {
            entry.source -= count;
        }
    }
    indexRows();
}

void RunRows::indexRows() {
    rowOfSource_.assign(static_cast<std::size_t>(table_->numRuns()), -1);
    for (std::size_t row = 0; row < entries_.size(); ++row) {
        const auto source = static_cast<std::size_t>(entries_[row].source);
        if (source >= rowOfSource_.size()) {
            rowOfSource_.resize(source + 1, -1);
        }
        rowOfSource_[source] = static_cast<int>(row);
    }
}

void RunRows::rebuild() {
    orderTimer_.stop();
    const int before = numMatching_;
    moveTo(wanted());
    if (numMatching_ != before) {
        Q_EMIT matchesChanged();
    }
}

void RunRows::reset(std::vector<Entry> wanted) {
    beginResetModel();
    entries_ = std::move(wanted);
    indexRows();
    const std::size_t numTicked = ticked_.size();
    std::erase_if(ticked_, [this](const std::string& id) { return table_->rowOf(id) < 0; });
    endResetModel();
    Q_EMIT matchesChanged();
    if (ticked_.size() != numTicked) {
        Q_EMIT ticksChanged();
    }
}

// `places`: of every run of the table in `wanted`, -1 for none.
void RunRows::moveTo(std::vector<Entry> wanted) {
    std::vector<int> places(static_cast<std::size_t>(table_->numRuns()), -1);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        places[static_cast<std::size_t>(wanted[i].source)] = static_cast<int>(i);
    }
    rowOfSource_.resize(places.size(), -1);
    const auto isStale = [&](const Entry& entry) {
        return places[static_cast<std::size_t>(entry.source)] < 0;
    };
    const auto isFresh = [&](const Entry& entry) {
        return rowOfSource_[static_cast<std::size_t>(entry.source)] < 0;
    };
    int numStretches = 0;
    for (std::size_t i = 0; i < entries_.size(); ++i) {
        numStretches += isStale(entries_[i]) && (i == 0 || !isStale(entries_[i - 1])) ? 1 : 0;
    }
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        numStretches += isFresh(wanted[i]) && (i == 0 || !isFresh(wanted[i - 1])) ? 1 : 0;
    }
    if (numStretches > kMostStretches) {
        reset(std::move(wanted));
        return;
    }
    removeStale(places);
    permute(wanted, places);
    insertFresh(wanted);
    for (std::size_t row = 0; row < wanted.size(); ++row) {
        const bool isOther = entries_[row].isContext != wanted[row].isContext ||
                             entries_[row].depth != wanted[row].depth ||
                             entries_[row].numVariations != wanted[row].numVariations;
        entries_[row] = wanted[row];
        if (isOther) {
            const int at = static_cast<int>(row);
            Q_EMIT dataChanged(index(at, 0), index(at, columnCount() - 1));
        }
    }
}

void RunRows::removeStale(const std::vector<int>& places) {
    const auto isStale = [&](int row) {
        return places[static_cast<std::size_t>(sourceRow(row))] < 0;
    };
    for (int row = rowCount() - 1; row >= 0; --row) {
        const int last = row;
        while (row >= 0 && isStale(row)) {
            --row;
        }
        if (row < last) {
            beginRemoveRows({}, row + 1, last);
            entries_.erase(entries_.begin() + row + 1, entries_.begin() + last + 1);
            endRemoveRows();
        }
    }
    indexRows();
}

void RunRows::permute(const std::vector<Entry>& wanted, const std::vector<int>& places) {
    const auto isBefore = [&](const Entry& a, const Entry& b) {
        return places[static_cast<std::size_t>(a.source)] <
               places[static_cast<std::size_t>(b.source)];
    };
    if (wanted.empty() || std::is_sorted(entries_.begin(), entries_.end(), isBefore)) {
        return;
    }
    Q_EMIT layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
    const QModelIndexList before = persistentIndexList();
    std::vector<int> sources;
    for (const QModelIndex& old : before) {
        sources.push_back(sourceRow(old.row()));
    }
    std::sort(entries_.begin(), entries_.end(), isBefore);
    indexRows();
    QModelIndexList after;
    for (int i = 0; i < before.size(); ++i) {
        const int row =
            rowOfSource_[static_cast<std::size_t>(sources[static_cast<std::size_t>(i)])];
        after.append(index(row, before[i].column()));
    }
    changePersistentIndexList(before, after);
    Q_EMIT layoutChanged({}, QAbstractItemModel::VerticalSortHint);
}

void RunRows::insertFresh(const std::vector<Entry>& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::size_t first = i;
        while (i < wanted.size() && rowOfSource_[static_cast<std::size_t>(wanted[i].source)] < 0) {
            ++i;
        }
        if (i > first) {
            const auto at = static_cast<std::ptrdiff_t>(first);
            beginInsertRows({}, static_cast<int>(first), static_cast<int>(i) - 1);
            entries_.insert(entries_.begin() + at, wanted.begin() + at,
                            wanted.begin() + static_cast<std::ptrdiff_t>(i));
            endInsertRows();
        }
    }
    indexRows();
}

}  // namespace millrace::gui
