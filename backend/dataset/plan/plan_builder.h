#pragma once
// Builds the plan of a run from the files' facts.
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::dataset {

/// Target size of a segment: decoded bytes.
inline constexpr std::int64_t kSegmentTargetBytes = 256'000'000;
/// Target size of a segment: rows. With few columns, 256 MB would be millions of rows: work for one
/// thread, too much for its caches, and all needed before the first frame
/// (docs/decisions/0026-segments-by-rows.md).
inline constexpr std::int64_t kSegmentTargetRows = 131'072;

/// The columns of `schema` that the train part of `spec` reads (dataset.where, recipe, labels,
/// features), sorted: decoded sizes count these.
std::vector<std::string> columnsRead(const spec::RunSpec& spec, const expr::Schema& schema);

/// The files with the rules of the time zones in the spec's expressions: absolute, sorted. They are
/// pinned like side tables.
std::vector<std::string> zoneFiles(const spec::RunSpec& spec);

/// The plan of a bound spec: train files, eval files if eval.dataset.path is separate, side tables.
/// If `spec.batch.segmentSplits` is 0, the plan gets the default. Decoded sizes count `baseColumns`
/// (the columns that the base reads; empty: columnsRead(spec)). Appends warnings to `warnings`,
/// which may be null. kInvalidArgument "batch.order: ..." if the files are not in the requested
/// order.
Result<stream::Plan> buildPlan(const spec::RunSpec& spec, const Dataset& train, const Dataset* eval,
                               const std::vector<std::string>& baseColumns = {},
                               std::vector<std::string>* warnings = nullptr);

/// Number of splits in a segment, and the rule that set it.
struct SegmentSize {
    std::int64_t splits = 1;
    stream::SegmentRule rule = stream::SegmentRule::kAll;
    bool operator==(const SegmentSize&) const = default;
};

/// The largest k whose k largest splits together decode to at most kSegmentTargetBytes, and whose k
/// longest together hold at most kSegmentTargetRows; at least 1. It does not depend on the machine.
SegmentSize defaultSegmentSize(const std::vector<stream::PlanFile>& files);

}  // namespace millrace::dataset
