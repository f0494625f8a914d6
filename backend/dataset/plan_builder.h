#pragma once
// Builds the plan of a run from files' facts (SEMANTICS 1).
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::dataset {

/// The target size of a segment, decoded.
inline constexpr std::int64_t kSegmentTargetBytes = 256'000'000;

/// The columns of `schema` that the train part of `spec` reads (dataset.where, recipe, labels,
/// features), sorted: what decoded sizes count.
std::vector<std::string> columnsRead(const spec::RunSpec& spec, const expr::Schema& schema);

/// The files with the rules of the time zones that the spec's expressions name: absolute, sorted.
/// They are pinned like side tables.
std::vector<std::string> zoneFiles(const spec::RunSpec& spec);

/// The plan of a bound spec: train files, eval files when eval.dataset.path is its own, side
/// tables. `spec.batch.segmentSplits` 0 asks for the default, which stands in the plan afterwards.
/// Decoded sizes are over `baseColumns` (the columns that the base reads; empty:
/// columnsRead(spec)). `warnings`: what is to be said of it, added; may be null.
/// kInvalidArgument "batch.order: ..." when the files do not stand in the order that is asked for.
Result<stream::Plan> buildPlan(const spec::RunSpec& spec, const Dataset& train, const Dataset* eval,
                               const std::vector<std::string>& baseColumns = {},
                               std::vector<std::string>* warnings = nullptr);

/// The largest k whose k largest splits together decode to at most kSegmentTargetBytes, at least 1.
std::int64_t defaultSegmentSplits(std::vector<std::int64_t> decodedBytes);

}  // namespace millrace::dataset
