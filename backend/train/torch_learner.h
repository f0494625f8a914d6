#pragma once
// The learner whose parameters, moments and batches are tensors on a device; the public face of
// train/torch.
#include <cstddef>
#include <memory>

#include "backend/train/learner.h"
#include "backend/train/ranks/group.h"

namespace millrace::train {

/// Makes a learner for a model with layers. Options must have passed checkNetwork;
/// kFailedPrecondition if the device is not available. `group`: the ranks that train one model,
/// each with a learner of the same options; outlives it. `asOnGpu`: makes the calls that a GPU gets
/// on a CPU, too, for tests.
Result<std::unique_ptr<Learner>> makeTensorLearner(const LearnerOptions& options, Group& group,
                                                   bool asOnGpu = false);

/// The version of the loaded LibTorch.
std::string torchVersion();

/// The device that train.device means on this machine, "cpu" or "cuda"; an error if it is not
/// available.
Result<std::string> resolveDevice(const std::string& name);

/// Pins the ring memory of a GPU's trainer while it is mapped. Does nothing for a CPU.
Status pinRing(const std::string& device, void* data, std::size_t size);
Status unpinRing(const std::string& device, void* data);

}  // namespace millrace::train
