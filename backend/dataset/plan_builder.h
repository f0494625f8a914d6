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
/// And in rows: of few columns 256 MB are millions, which are one thread's, far from its caches,
/// and all of them before the first frame (docs/decisions/0026-segments-by-rows.md).
inline constexpr std::int64_t kSegmentTargetRows = 131'072;

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

/// Splits in a segment, and why so many.
struct SegmentSize {
    std::int64_t splits = 1;
    stream::SegmentRule rule = stream::SegmentRule::kAll;
    bool operator==(const SegmentSize&) const = default;
};

/// The largest k whose k largest splits together decode to at most kSegmentTargetBytes, and whose k
/// longest together hold at most kSegmentTargetRows; at least 1. Nothing of the machine decides it.
SegmentSize defaultSegmentSize(const std::vector<stream::PlanFile>& files);

}  // namespace millrace::dataset
