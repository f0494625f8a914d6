#pragma once
// What is told of updates and tables beside the loss. Threads: pure.
#include <cstdint>

#include "backend/rank/rank_line.h"
#include "backend/train/learner.h"

namespace millrace::train {

/// Of an update: gradient norm, learning rates, rows touched, a device's memory.
void addFigures(const UpdateFigures& figures, const Learner& learner, const LearnerOptions& options,
                rank::Values& values);

/// At a checkpoint: how long steps stood still for it, and the share of the tables' rows that an
/// update has ever touched, of the first 64.
rank::Values checkpointFigures(std::int64_t stoodNs, const Learner& learner);

}  // namespace millrace::train
