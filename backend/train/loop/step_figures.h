#pragma once
// Metrics of updates and tables that are reported beside the loss. Threads: pure.
#include <cstdint>

#include "backend/rank/rank_line.h"
#include "backend/train/learner.h"

namespace millrace::train {

/// Adds an update's gradient norm, learning rates, touched rows and device memory.
void addFigures(const UpdateFigures& figures, const Learner& learner, const LearnerOptions& options,
                rank::Values& values);

/// At a checkpoint: how long steps were blocked for it, and the share of the tables' rows that an
/// update has ever touched, for the first 64 tables.
rank::Values checkpointFigures(std::int64_t stoodNs, const Learner& learner);

}  // namespace millrace::train
