#include "app/gui/models/data/sample_diff.h"

#include <QHash>
#include <QObject>
#include <algorithm>
#include <deque>
#include <unordered_map>

#include "app/gui/models/run_text.h"

namespace millrace::gui {
namespace {

constexpr int kMostNamed = 4;

std::vector<int> placesOf(const values::SampleStage& from, const values::SampleStage& in) {
    std::unordered_map<std::string, int> places;
    for (int i = 0; i < static_cast<int>(in.columns.size()); ++i) {
        places.emplace(in.columns[static_cast<std::size_t>(i)].name, i);
    }
    std::vector<int> result;
    for (const values::SampleColumn& column : from.columns) {
        const auto at = places.find(column.name);
        result.push_back(at == places.end() ? -1 : at->second);
    }
    return result;
}

// A row id may occur more than once (a step that repeats rows): the n-th before matches the n-th
// after.
std::vector<SampleDiff::Row> alignedRows(const values::SampleStage& before,
                                         const values::SampleStage& after) {
    std::unordered_map<std::int64_t, std::deque<int>> places;
    for (int i = 0; i < static_cast<int>(before.rowIds.size()); ++i) {
        places[before.rowIds[static_cast<std::size_t>(i)]].push_back(i);
    }
    std::vector<int> partner(before.rowIds.size(), -1);
    std::vector<std::pair<int, int>> cameBehind;  // a new row after, and the row before that it
                                                  // follows
    int last = -1;
    for (int i = 0; i < static_cast<int>(after.rowIds.size()); ++i) {
        const auto at = places.find(after.rowIds[static_cast<std::size_t>(i)]);
        if (at == places.end() || at->second.empty()) {
            cameBehind.emplace_back(i, last);
            continue;
        }
        last = at->second.front();
        at->second.pop_front();
        partner[static_cast<std::size_t>(last)] = i;
    }
    std::vector<SampleDiff::Row> rows;
    std::size_t next = 0;
    const auto takeNew = [&](int behind) {
        for (; next < cameBehind.size() && cameBehind[next].second == behind; ++next) {
            const int place = cameBehind[next].first;
            rows.push_back({after.rowIds[static_cast<std::size_t>(place)], -1, place, true});
        }
    };
    takeNew(-1);
    for (int i = 0; i < static_cast<int>(before.rowIds.size()); ++i) {
        const int after = partner[static_cast<std::size_t>(i)];
        rows.push_back({before.rowIds[static_cast<std::size_t>(i)], i, after, after < 0});
        takeNew(i);
    }
    // A step that reorders rows leaves new rows that follow an already passed row: append them.
    for (; next < cameBehind.size(); ++next) {
        const int place = cameBehind[next].first;
        rows.push_back({after.rowIds[static_cast<std::size_t>(place)], -1, place, true});
    }
    return rows;
}

bool isSameValue(const values::SampleColumn& a, int rowA, const values::SampleColumn& b, int rowB) {
    const bool isNullA = isNullAt(a, rowA), isNullB = isNullAt(b, rowB);
    return isNullA || isNullB ? isNullA == isNullB
                              : a.values[static_cast<std::size_t>(rowA)] ==
                                    b.values[static_cast<std::size_t>(rowB)];
}

QString columnNames(const std::vector<values::SampleColumn>& columns,
                    const std::vector<int>& partner) {
    QStringList names;
    int numMore = 0;
    for (std::size_t i = 0; i < columns.size(); ++i) {
        if (partner[i] >= 0) {
            continue;
        }
        if (names.size() < kMostNamed) {
            names.append(qtext(columns[i].name));
        } else {
            ++numMore;
        }
    }
    return names.join(QStringLiteral(", ")) +
           (numMore > 0 ? QObject::tr(" and %1 more").arg(numMore) : QString());
}

QString counted(int count, const char* one, const char* many) {
    return countText(count) + ' ' + QString::fromLatin1(count == 1 ? one : many);
}

}  // namespace

bool isNullAt(const values::SampleColumn& column, int row) {
    const auto place = static_cast<std::size_t>(row);
    return row < 0 || place >= column.values.size() ||
           (place < column.isNull.size() && column.isNull[place]);
}

SampleDiff sampleDiff(const values::SampleStage& before, const values::SampleStage& after) {
    SampleDiff diff;
    diff.afterOf = placesOf(before, after);
    diff.beforeOf = placesOf(after, before);
    diff.numColumnsRemoved = static_cast<int>(std::ranges::count(diff.afterOf, -1));
    diff.numColumnsAdded = static_cast<int>(std::ranges::count(diff.beforeOf, -1));
    diff.rows = alignedRows(before, after);
    for (SampleDiff::Row& row : diff.rows) {
        diff.numRemoved += row.after < 0 ? 1 : 0;
        diff.numAdded += row.before < 0 ? 1 : 0;
        if (row.after < 0 || row.before < 0) {
            continue;
        }
        int changed = 0;
        for (std::size_t c = 0; c < diff.afterOf.size(); ++c) {
            const int other = diff.afterOf[c];
            if (other >= 0 &&
                !isSameValue(before.columns[c], row.before,
                             after.columns[static_cast<std::size_t>(other)], row.after)) {
                ++changed;
            }
        }
        row.hasChange = changed > 0;
        diff.numChangedCells += changed;
        diff.numChangedRows += changed > 0 ? 1 : 0;
    }
    return diff;
}

QString whatChanged(const SampleDiff& diff, const values::SampleStage& before,
                    const values::SampleStage& after) {
    QStringList parts;
    if (diff.numRemoved > 0) {
        parts.append(QObject::tr("removed %1 of %2")
                         .arg(countText(diff.numRemoved),
                              counted(static_cast<int>(before.rowIds.size()), "row", "rows")));
    }
    if (diff.numAdded > 0) {
        parts.append(QObject::tr("added %1").arg(counted(diff.numAdded, "row", "rows")));
    }
    if (diff.numColumnsAdded > 0) {
        parts.append(QObject::tr("added %1").arg(columnNames(after.columns, diff.beforeOf)));
    }
    if (diff.numColumnsRemoved > 0) {
        parts.append(QObject::tr("dropped %1").arg(columnNames(before.columns, diff.afterOf)));
    }
    if (diff.numChangedCells > 0) {
        parts.append(QObject::tr("changed %1 in %2")
                         .arg(counted(diff.numChangedCells, "value", "values"),
                              counted(diff.numChangedRows, "row", "rows")));
    }
    return parts.isEmpty() ? QObject::tr("changed nothing in these rows")
                           : parts.join(QStringLiteral("; "));
}

std::shared_ptr<const SampleComparison> compareStages(const values::SampleStage& before,
                                                      const values::SampleStage& after) {
    auto comparison = std::make_shared<SampleComparison>();
    comparison->before = before;
    comparison->after = after;
    comparison->diff = sampleDiff(before, after);
    return comparison;
}

std::shared_ptr<const SampleComparison> aloneStage(const values::SampleStage& stage) {
    auto comparison = std::make_shared<SampleComparison>();
    comparison->after = stage;
    comparison->isAlone = true;
    comparison->diff = sampleDiff(stage, stage);
    return comparison;
}

}  // namespace millrace::gui
