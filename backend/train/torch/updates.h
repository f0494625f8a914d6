#pragma once
// SGD, Adagrad (also row-wise) and AdamW over tensors, by the formulas of optimizer.h: loops on a
// CPU, a few calls for any number of weights elsewhere.
#include <cstdint>

#include <ATen/core/Tensor.h>

#include "backend/train/schedule.h"

namespace millrace::train {

/// Weights and their moments, undefined if numMoments() is smaller. All have one shape, except that
/// `first` has one column for row-wise optimizers.
struct Weights {
    at::Tensor values, first, second;
};

/// Updates `weights` in place: all, or the rows `rows` (distinct), whose gradients are the rows of
/// `gradient`. The gradient is first divided by `divisor` and may be overwritten. `updates`: the
/// number of this update, from 1. `isOnHost`: by loops.
void updateWeights(const OptimizerOptions& options, std::int64_t updates, double divisor,
                   const at::Tensor& gradient, const Weights& weights, const at::Tensor& rows,
                   bool isOnHost);

/// The norm of all elements of `of`, float64.
at::Tensor normOf(const at::Tensor& of);

}  // namespace millrace::train
