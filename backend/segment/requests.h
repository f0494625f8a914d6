#pragma once
// Requests: maximal runs of adjacent rows of a split with one non-null request value; a null is a
// request of its own (SEMANTICS 5). And the list columns that are stored once a request.
//
// Threads: pure functions.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/expr/schema.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace arrow {
class Array;
}  // namespace arrow

namespace millrace::segment {

/// The rows at which requests start, ascending; the first value is that of row `firstRow`.
std::vector<std::uint64_t> requestStarts(const arrow::Array& values, std::uint64_t firstRow);

/// What a stream's lists are looked at with.
struct DedupProbe {
    const spec::RunSpec& spec;
    const expr::Schema& columns;  ///< at the end of the recipe
    const recipe::CompiledRecipe& recipe;
    std::shared_ptr<const dataset::Dataset> dataset;
    const std::vector<stream::PlanFile>& files;
};

/// The list columns of a layout that are deduplicated: none without features.request or with
/// `dedup: off`; all with `required`; with `best_effort` those that, in the first rows of the plan,
/// do not change within a request. Reads at most kProbeRows rows, and runs the recipe on them only
/// where it makes lists; a function of spec and plan alone, so that every worker decides alike.
inline constexpr std::int64_t kProbeRows = 4096;
Result<std::set<std::string>> deduplicatedLists(const DedupProbe& probe);

}  // namespace millrace::segment
