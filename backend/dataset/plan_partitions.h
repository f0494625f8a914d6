#pragma once
// The partitions of a plan: which splits stand together, and in what order, when training goes by a
// column (spec key batch.order: {by: column}).
//
// A partition is all row groups with one value of the column, or a single row group that holds
// several; partitions ascend, nulls are the last. That no two of them interleave is proved from
// directory names and footers' statistics; no row is read.
// Threads: pure. Failure: kInvalidArgument "batch.order: FILE: ..." where it cannot be proved.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/stream/plan.h"

namespace millrace::dataset {

struct PartitionSummary {
    std::int64_t partitions = 0;
    std::int64_t several = 0;  ///< of them, row groups that hold more than one value
};

/// Numbers the partitions of `files` (those of `dataset`, in its order) by `column`.
Result<PartitionSummary> partitionSplits(const Dataset& dataset, const std::string& column,
                                         std::vector<stream::PlanFile>& files);

}  // namespace millrace::dataset
