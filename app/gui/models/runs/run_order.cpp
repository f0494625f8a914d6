#include "app/gui/models/runs/run_order.h"

#include <algorithm>
#include <cmath>

#include "app/gui/models/run_text.h"
#include "app/gui/models/runs/run_table.h"

namespace millrace::gui {
namespace {

using values::RunSummary;

bool matchesWords(RunTable& table, const RunFilter& filter, int source) {
    const RunSummary& run = table.run(source);
    const auto at = static_cast<std::size_t>(source);
    const QString& name = table.column(table.columnOf("name")).text(at);
    const QString& variation = table.column(table.columnOf("variation")).text(at);
    return std::ranges::all_of(filter.words, [&](const QString& word) {
        return name.contains(word, Qt::CaseInsensitive) ||
               variation.contains(word, Qt::CaseInsensitive) ||
               qtext(run.id).contains(word, Qt::CaseInsensitive);
    });
}

// One entry per run of the table; char, because vector<bool> has no references.
std::vector<char> matchesOf(RunTable& table, const RunFilter& filter) {
    std::vector<char> result(static_cast<std::size_t>(table.numRuns()), 1);
    if (filter.isEmpty()) {
        return result;
    }
    for (int source = 0; source < table.numRuns(); ++source) {
        const RunSummary& run = table.run(source);
        const bool isMatch = (filter.states.empty() || filter.states.count(run.state) > 0) &&
                             (!filter.ids || filter.ids->count(run.id) > 0) &&
                             matchesWords(table, filter, source);
        result[static_cast<std::size_t>(source)] = isMatch ? 1 : 0;
    }
    return result;
}

// Copies the keys first: reading the column in the comparison costs ten times as much.
std::vector<int> sortedRows(RunTable& table, const RunOrder& order) {
    struct Key {
        double value;
        const RunSummary* run;
        int row;
    };
    const RunColumn& column = table.column(table.columnOf(order.sortKey));
    const double sign = order.direction == Qt::AscendingOrder ? 1 : -1;
    std::vector<Key> keys;
    keys.reserve(static_cast<std::size_t>(table.numRuns()));
    for (int row = 0; row < table.numRuns(); ++row) {
        keys.push_back(
            {sign * column.sortKey(static_cast<std::size_t>(row)), &table.run(row), row});
    }
    std::ranges::sort(keys, [](const Key& a, const Key& b) {
        const bool isNoneA = std::isnan(a.value), isNoneB = std::isnan(b.value);
        if (isNoneA != isNoneB) {
            return isNoneB;
        }
        if (!isNoneA && a.value != b.value) {
            return a.value < b.value;
        }
        return values::isListedBefore(*a.run, *b.run);
    });
    std::vector<int> rows;
    rows.reserve(keys.size());
    for (const Key& key : keys) {
        rows.push_back(key.row);
    }
    return rows;
}

void sortAsSubmitted(const RunTable& table, std::vector<int>& variations) {
    std::ranges::sort(variations, [&table](int a, int b) {
        return values::isSubmittedBefore(table.run(a), table.run(b));
    });
}

}  // namespace

int baseOfRun(const RunTable& table, int source) {
    const RunSummary& run = table.run(source);
    const int base = run.variationOf.empty() ? -1 : table.rowOf(run.variationOf);
    return base == source || (base >= 0 && !table.run(base).variationOf.empty()) ? -1 : base;
}

ArrangedRuns arrangeRuns(RunTable& table, const RunOrder& order) {
    const std::vector<char> isMatch = matchesOf(table, order.filter);
    ArrangedRuns arranged;
    arranged.numMatching = static_cast<int>(std::ranges::count(isMatch, 1));
    std::vector<std::vector<int>> variations(isMatch.size());
    std::vector<char> isNestedRow(isMatch.size(), 0);
    const std::vector<int> sorted = sortedRows(table, order);
    for (const int row : sorted) {
        const auto at = static_cast<std::size_t>(row);
        const int base = order.isNested && isMatch[at] ? baseOfRun(table, row) : -1;
        if (base >= 0) {
            variations[static_cast<std::size_t>(base)].push_back(row);
            isNestedRow[at] = 1;
        }
    }
    for (const int row : sorted) {
        const auto at = static_cast<std::size_t>(row);
        std::vector<int>& below = variations[at];
        if (isNestedRow[at] || (!isMatch[at] && below.empty())) {
            continue;
        }
        arranged.rows.push_back({row, 0, static_cast<int>(below.size()), !isMatch[at]});
        if (order.sortKey == QLatin1String("created")) {
            sortAsSubmitted(table, below);
        }
        if (!below.empty() && !order.folded.contains(qtext(table.run(row).id))) {
            for (const int variation : below) {
                arranged.rows.push_back({variation, 1, 0, false});
            }
        }
    }
    return arranged;
}

}  // namespace millrace::gui
