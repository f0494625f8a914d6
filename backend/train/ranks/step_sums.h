#pragma once
// Sums a step's shares over the ranks: its weight, which scales the update, and its reported loss.
#include "backend/core/status.h"
#include "backend/train/loss.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {

/// Adds the sums of all ranks' shares in rank order. kInternal: a rank trains another model.
Result<LossSums> sumOverRanks(LossSums mine, Group& group);

}  // namespace millrace::train
