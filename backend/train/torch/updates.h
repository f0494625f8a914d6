#pragma once
// SGD, Adagrad (also row-wise) and AdamW over tensors: the formulas of optimizer.h, a few calls for
// however many weights.
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "backend/train/schedule.h"

namespace millrace::train {

/// Updates `values` in place; `gradient` is divided by `divisor` (one number, of the tensors'
/// device or of the CPU) first and may be written into. `first`, `second`: the moments, undefined
/// where numMoments() is smaller. `updates`: the number of this update, from 1. All of one shape;
/// of row-wise ones `first` has one column.
void updateTensors(const OptimizerOptions& options, std::int64_t updates, const at::Tensor& divisor,
                   at::Tensor gradient, at::Tensor& values, at::Tensor& first, at::Tensor& second);

/// The norm of all that `of` holds, float64.
at::Tensor normOf(const at::Tensor& of);
/// clipDivisor() of a norm on a device.
at::Tensor clipDivisors(const at::Tensor& norm, double clipNorm);

}  // namespace millrace::train
