#pragma once
// Finds splits without any row that passes the filters, from facts about their columns.
//
// It uses the filters on the dataset's own columns: `dataset.where` and the filter steps before the
// first step that makes a column. It errs only on the safe side: an unknown operation proves
// nothing.
// Threads: a value, made once per stream and shared.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backend/expr/expression.h"
#include "backend/spec/run_spec.h"

namespace millrace::dataset {

/// Integers, bools (0, 1), dates (days) and timestamps (microseconds) as int64.
using Bound = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Facts about a column in a split.
struct ColumnFactsOfSplit {
    Bound min, max;        ///< monostate: unknown
    bool hasNulls = true;  ///< may hold nulls
    bool isAllNull = false;
    /// False only when no row has this value (a bloom filter); absent: unknown.
    std::function<bool(const Bound&)> mayHold;
};

/// Returns nothing for a column without facts.
using ColumnLookup = std::function<std::optional<ColumnFactsOfSplit>(const std::string& column)>;

class SplitPruner {
 public:
    SplitPruner() = default;
    /// `isEval`: uses the evaluation's own `where`, and no steps. Filters that do not fit the
    /// schema are skipped: the recipe rejects them.
    static SplitPruner make(const spec::RunSpec& spec, const expr::Schema& schema, bool isEval);

    bool hasFilters() const { return !filters_.empty(); }
    /// The columns that the filters use.
    const std::vector<std::string>& columns() const { return columns_; }
    /// Whether no row of such a split passes.
    bool provesEmpty(const ColumnLookup& columns) const;

 private:
    std::vector<expr::Expr> filters_;
    std::vector<std::string> columns_;
};

}  // namespace millrace::dataset
