#pragma once
// SGD, Adagrad (also row-wise) and AdamW over tensors, by the formulas of optimizer.h: a few calls
// for any number of weights.
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "backend/train/schedule.h"

namespace millrace::train {

/// Updates `values` in place. `gradient` is first divided by `divisor` (one number, on the tensors'
/// device or the CPU) and may be overwritten. `first`, `second`: the moments, undefined if
/// numMoments() is smaller. `updates`: the number of this update, from 1. All have one shape,
/// except that `first` has one column for row-wise optimizers.
void updateTensors(const OptimizerOptions& options, std::int64_t updates, const at::Tensor& divisor,
                   at::Tensor gradient, at::Tensor& values, at::Tensor& first, at::Tensor& second);

/// The norm of all elements of `of`, float64.
at::Tensor normOf(const at::Tensor& of);
/// clipDivisor() of a norm on a device.
at::Tensor clipDivisors(const at::Tensor& norm, double clipNorm);

}  // namespace millrace::train
