#pragma once
// Finds requests, and the list columns that are stored once per request. A request is a maximal run
// of adjacent rows of a split with one non-null request value; a null is a request of its own
// (docs/formats/frame.md).
//
// Threads: pure functions.
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/expr/schema.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::segment {

/// The rows at which requests start, ascending; values[0] is that of row `firstRow`.
std::vector<std::uint64_t> requestStarts(const arrow::Array& values, std::uint64_t firstRow);

/// The input of deduplicatedLists(), which examines a stream's lists.
struct DedupProbe {
    const spec::RunSpec& spec;
    const expr::Schema& columns;  ///< at the end of the recipe
    const recipe::CompiledRecipe& recipe;
    std::shared_ptr<const dataset::Dataset> dataset;
    const std::vector<stream::PlanFile>& files;
};

/// The list columns of a layout that are deduplicated: none without features.request or with
/// `dedup: off`; all with `required`; with `best_effort` those that do not change within a request
/// in the first rows of the plan. Reads at most kProbeRows rows, and runs the recipe on them only
/// if it makes lists. The result depends on spec and plan alone, so every worker decides alike.
inline constexpr std::int64_t kProbeRows = 4096;
Result<std::set<std::string>> deduplicatedLists(const DedupProbe& probe);

}  // namespace millrace::segment
