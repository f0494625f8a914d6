#pragma once
// What the ranks' shares of a step come to together: its weight, which scales the update, and what
// is told of it.
#include "backend/core/status.h"
#include "backend/train/loss.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {

/// The sums of all ranks' shares, added in the ranks' order. kInternal: they train other models.
Result<LossSums> sumOverRanks(LossSums mine, Group& group);

}  // namespace millrace::train
