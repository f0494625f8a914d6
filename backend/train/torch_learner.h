#pragma once
// The learner whose parameters, moments and batches are tensors of a device; the wall of the torch
// room.
#include <cstddef>
#include <memory>

#include "backend/train/learner.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {

/// Of the models that have layers. Options are checked (checkNetwork); kFailedPrecondition where
/// the device cannot be had. `group`: the ranks that train one model, each with a learner of the
/// same options; outlives it.
Result<std::unique_ptr<Learner>> makeTensorLearner(const LearnerOptions& options, Group& group);

/// What train.device names here, "cpu" or "cuda"; the sentence where it is not there.
Result<std::string> resolveDevice(const std::string& name);

/// Ring memory of a device's trainer: pinned while it is mapped. Of a CPU nothing is done.
Status pinRing(const std::string& device, void* data, std::size_t size);
Status unpinRing(const std::string& device, void* data);

}  // namespace millrace::train
