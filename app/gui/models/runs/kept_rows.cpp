#include "app/gui/models/runs/kept_rows.h"

#include <algorithm>

namespace millrace::gui {
namespace {

/// With more separate ranges than this to remove or insert, a reset is cheaper for the views.
constexpr int kMostRanges = 96;

// For every source: its index in `rows`, or -1. Sources beyond the end have none.
std::vector<int> placesOf(const std::vector<RunRow>& rows, std::size_t numSourcesMin) {
    std::size_t numSources = numSourcesMin;
    for (const RunRow& row : rows) {
        numSources = std::max(numSources, static_cast<std::size_t>(row.source) + 1);
    }
    std::vector<int> places(numSources, -1);
    for (std::size_t i = 0; i < rows.size(); ++i) {
        places[static_cast<std::size_t>(rows[i].source)] = static_cast<int>(i);
    }
    return places;
}

template <class IsOf>
int numRanges(const std::vector<RunRow>& rows, IsOf isOf) {
    int count = 0;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        count += isOf(rows[i]) && (i == 0 || !isOf(rows[i - 1])) ? 1 : 0;
    }
    return count;
}

}  // namespace

int KeptRows::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

int KeptRows::rowOfSource(int source) const {
    return source < 0 || source >= static_cast<int>(rowOfSource_.size())
               ? -1
               : rowOfSource_[static_cast<std::size_t>(source)];
}

void KeptRows::indexRows() {
    rowOfSource_ = placesOf(rows_, 0);
}

void KeptRows::resetTo(const std::function<std::vector<RunRow>()>& make) {
    beginResetModel();
    rows_ = make();
    indexRows();
    endResetModel();
}

bool KeptRows::isTooScattered(const std::vector<RunRow>& wanted,
                              const std::vector<int>& places) const {
    const int numStale = numRanges(
        rows_, [&](const RunRow& row) { return places[static_cast<std::size_t>(row.source)] < 0; });
    const int numFresh =
        numRanges(wanted, [this](const RunRow& row) { return rowOfSource(row.source) < 0; });
    return numStale + numFresh > kMostRanges;
}

void KeptRows::moveTo(const std::vector<RunRow>& wanted) {
    const std::vector<int> places = placesOf(wanted, rowOfSource_.size());
    if (isTooScattered(wanted, places)) {
        resetTo([&wanted] { return wanted; });
        return;
    }
    removeStale(places);
    permute(wanted, places);
    insertFresh(wanted);
    takeFlags(wanted);
}

// The order is right already; takes over changed flags (base, nested, context).
void KeptRows::takeFlags(const std::vector<RunRow>& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (!(rows_[i] == wanted[i])) {
            rows_[i] = wanted[i];
            const int row = static_cast<int>(i);
            Q_EMIT dataChanged(index(row, 0), index(row, columnCount() - 1));
        }
    }
}

void KeptRows::removeStale(const std::vector<int>& places) {
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
            rows_.erase(rows_.begin() + row + 1, rows_.begin() + last + 1);
            endRemoveRows();
        }
    }
    indexRows();
}

void KeptRows::permute(const std::vector<RunRow>& wanted, const std::vector<int>& places) {
    const auto isBefore = [&](const RunRow& a, const RunRow& b) {
        return places[static_cast<std::size_t>(a.source)] <
               places[static_cast<std::size_t>(b.source)];
    };
    if (wanted.empty() || std::ranges::is_sorted(rows_, isBefore)) {
        return;
    }
    Q_EMIT layoutAboutToBeChanged({}, QAbstractItemModel::VerticalSortHint);
    const QModelIndexList before = persistentIndexList();
    std::vector<int> sources;
    for (const QModelIndex& old : before) {
        sources.push_back(sourceRow(old.row()));
    }
    std::ranges::sort(rows_, isBefore);
    indexRows();
    QModelIndexList after;
    for (int i = 0; i < before.size(); ++i) {
        after.append(index(rowOfSource(sources[static_cast<std::size_t>(i)]), before[i].column()));
    }
    changePersistentIndexList(before, after);
    Q_EMIT layoutChanged({}, QAbstractItemModel::VerticalSortHint);
}

void KeptRows::insertFresh(const std::vector<RunRow>& wanted) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        const std::size_t first = i;
        while (i < wanted.size() && rowOfSource(wanted[i].source) < 0) {
            ++i;
        }
        if (i > first) {
            const auto place = static_cast<std::ptrdiff_t>(first);
            beginInsertRows({}, static_cast<int>(first), static_cast<int>(i) - 1);
            rows_.insert(rows_.begin() + place, wanted.begin() + place,
                         wanted.begin() + static_cast<std::ptrdiff_t>(i));
            endInsertRows();
        }
    }
    indexRows();
}

void KeptRows::removeSources(int first, int last) {
    for (int row = rowCount() - 1; row >= 0; --row) {
        const int end = row;
        while (row >= 0 && sourceRow(row) >= first && sourceRow(row) <= last) {
            --row;
        }
        if (row < end) {
            beginRemoveRows({}, row + 1, end);
            rows_.erase(rows_.begin() + row + 1, rows_.begin() + end + 1);
            indexRows();
            endRemoveRows();
        }
    }
}

void KeptRows::shiftSources(int first, int count) {
    for (RunRow& row : rows_) {
        if (row.source > first) {
            row.source -= count;
        }
    }
    indexRows();
}

void KeptRows::announce(const std::vector<int>& sortedRows) {
    for (std::size_t i = 0; i < sortedRows.size();) {
        std::size_t end = i + 1;
        while (end < sortedRows.size() && sortedRows[end] <= sortedRows[end - 1] + 1) {
            ++end;
        }
        Q_EMIT dataChanged(index(sortedRows[i], 0), index(sortedRows[end - 1], columnCount() - 1));
        i = end;
    }
}

}  // namespace millrace::gui
