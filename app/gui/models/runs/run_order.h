#pragma once
// Arranges the list of runs: filtered, sorted, variations nested below their base.
//
// Plain values and one pure function of them. A variation is a row below its base (depth 1) that is
// folded with it; a base that does not match while one of its variations does is shown as context.
// Costs: one array of numbers is sorted, some ms for 10,000 runs. Threads: the table's thread.
// Failure: none.
#include <QSet>
#include <QString>
#include <QStringList>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "backend/values/run_state.h"

namespace millrace::gui {

class RunTable;

/// Selects the runs to show. All parts must hold; an empty part holds for every run.
struct RunFilter {
    QStringList words;  ///< each in the name, the variation or the id, ignoring case
    std::optional<std::unordered_set<std::string>> ids;  ///< the daemon's matches
    std::set<values::RunState> states;
    bool isEmpty() const { return words.isEmpty() && !ids && states.empty(); }
};

struct RunOrder {
    QString sortKey = "created";  ///< of a column, run_column.h
    Qt::SortOrder direction = Qt::DescendingOrder;
    RunFilter filter;
    bool isNested = true;
    QSet<QString> folded;  ///< ids of bases
};

/// A row of the list.
struct RunRow {
    int source = 0;  ///< row in the table
    int depth = 0, numVariations = 0;
    bool isContext = false;
    bool operator==(const RunRow&) const = default;
};

struct ArrangedRuns {
    std::vector<RunRow> rows;
    int numMatching = 0;  ///< folded or not; context rows do not count
};

/// If equal, the newest first; empty values last in either direction. By "created" the variations
/// of a base keep the order of their submission. Not const: it may create a column.
ArrangedRuns arrangeRuns(RunTable& table, const RunOrder& order);
/// The row of the run that this one is a variation of; -1: none.
int baseOfRun(const RunTable& table, int source);

}  // namespace millrace::gui
