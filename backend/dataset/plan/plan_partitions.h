#pragma once
// The partitions of a plan: groups of splits, and their order, for training in the order of a
// column (spec key batch.order: {by: column}).
//
// A partition is all row groups with one value of the column, or a single row group with several
// values; partitions ascend, nulls come last. Directory names and footers' statistics prove that no
// two of them interleave; no row is read.
// Threads: pure. Failure: kInvalidArgument "batch.order: FILE: ..." if that cannot be proved.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/stream/plan.h"

namespace millrace::dataset {

struct PartitionSummary {
    std::int64_t partitions = 0;
    std::int64_t several = 0;  ///< of these, row groups with more than one value
};

/// Numbers the partitions of `files` (those of `dataset`, in its order) by `column`.
Result<PartitionSummary> partitionSplits(const Dataset& dataset, const std::string& column,
                                         std::vector<stream::PlanFile>& files);

}  // namespace millrace::dataset
