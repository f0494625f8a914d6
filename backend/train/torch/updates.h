#pragma once
// SGD, Adagrad and AdamW over tensors: the formulas of optimizer.h, a few calls for however many
// weights.
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "backend/train/optimizer.h"

namespace millrace::train {

/// Updates `values` in place; `gradient` is divided by `weight` first and may be written into.
/// `first`, `second`: the moments, undefined where numMoments() is smaller. `updates`: the number
/// of this update, from 1. All of one shape.
void updateTensors(const OptimizerOptions& options, std::int64_t updates, double weight,
                   at::Tensor gradient, at::Tensor& values, at::Tensor& first, at::Tensor& second);

}  // namespace millrace::train
