#pragma once
// Which splits cannot hold a row that passes the filters: told from facts about their columns.
//
// The filters are those that see the dataset's own columns: `dataset.where` and the filter steps
// before the first step that makes a column. A proof may only say too little: an operation that it
// does not know proves nothing.
// Threads: a value, made once a stream and shared.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/expression.h"
#include "backend/spec/run_spec.h"

namespace millrace::dataset {

/// Integers, bools (0, 1), dates (days) and timestamps (microseconds) as int64.
using Bound = std::variant<std::monostate, std::int64_t, double, std::string>;

/// What is known of a column in a split.
struct ColumnFactsOfSplit {
    Bound min, max;        ///< monostate: unknown
    bool hasNulls = true;  ///< may hold nulls
    bool isAllNull = false;
    /// False only when no row has this value (a bloom filter); absent: unknown.
    std::function<bool(const Bound&)> mayHold;
};

/// Absent: nothing is known of the column.
using ColumnLookup = std::function<std::optional<ColumnFactsOfSplit>(const std::string& column)>;

class SplitPruner {
 public:
    SplitPruner() = default;
    /// `isEval`: the evaluation's own `where`, and no steps. Filters that do not fit the schema are
    /// left out: the recipe refuses them.
    static SplitPruner make(const spec::RunSpec& spec, const expr::Schema& schema, bool isEval);

    bool hasFilters() const { return !filters_.empty(); }
    /// Those that the filters name.
    const std::vector<std::string>& columns() const { return columns_; }
    /// Whether no row of such a split passes.
    bool provesEmpty(const ColumnLookup& columns) const;

 private:
    std::vector<expr::Expr> filters_;
    std::vector<std::string> columns_;
};

}  // namespace millrace::dataset
