#pragma once
// What ranks tell each other at a step's end, so that all decide alike: whether the step counts,
// whether they stop, what its weight is.
#include <string>
#include <string_view>

#include "backend/core/status.h"
#include "backend/train/loss.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {

struct Vote {
    bool hasStopped = false;  ///< a stop cut this rank's share of the step short: nobody takes it
    bool wantsStop = false;   ///< behind this step
    bool wantsCheckpoint = false;  ///< of this step
    LossSums sums;                 ///< of this rank's share
};

/// What all said together: any stop or wish is everybody's, sums are added in the ranks' order.
Result<Vote> vote(const Vote& mine, Group& group);

}  // namespace millrace::train
