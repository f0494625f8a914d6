#pragma once
// SGD, Adagrad, row-wise Adagrad and AdamW as plain loops over floats: the same bits whatever the
// vector width.
//
// The formulas are PyTorch's; row-wise Adagrad adds a row's mean squared gradient to one sum per
// row (FBGEMM's EXACT_ROWWISE_ADAGRAD). Embedding tables are updated lazily: only rows that the
// step touched are read or written, as in PyTorch's SparseAdam. For SGD without momentum and for
// Adagrad that is exact. With momentum and AdamW, the moments (and the weight decay) of an
// untouched row pause until it is touched again. AdamW's bias correction counts the model's
// updates, not the row's. Threads: none of its own.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace millrace::train {

enum class OptimizerKind { kSgd, kAdagrad, kRowwiseAdagrad, kAdamW };

struct OptimizerOptions {
    OptimizerKind kind = OptimizerKind::kAdamW;
    double learningRate = 0.001;
    double weightDecay = 0;  ///< AdamW: decoupled; else added to the gradient
    double momentum = 0;     ///< SGD
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;  ///< AdamW
    double adagradEpsilon = 1e-10;
};

/// "sgd", "adagrad", "rowwise_adagrad", "adamw".
Result<OptimizerKind> parseOptimizer(const std::string& name);

/// Number of kinds of state: 0, 1 or 2.
int numMoments(const OptimizerOptions& options);
/// Floats per row in each kind of state, for rows of `dim` weights: `dim`, or 1.
std::int64_t momentWidth(const OptimizerOptions& options, std::int64_t dim);

/// One update of the model: computes once what all weights share.
class WeightUpdate {
 public:
    /// `number`: number of this update, from 1. Gradients are divided by `weight`. `options`
    /// outlives it.
    WeightUpdate(const OptimizerOptions& options, std::int64_t number, double weight);

    /// Updates `size` weights (row-wise: one row). `first`, `second`: the moments (null if
    /// numMoments is smaller), momentWidth(size) floats each.
    void apply(std::int64_t size, const float* gradient, float* values, float* first,
               float* second) const;

 private:
    const OptimizerOptions& options_;
    const bool isFirst_;
    const float divisor_;
    /// AdamW: the rate divided by the first moment's correction; the root of the second's.
    float step_ = 0, root_ = 0;
};

/// Sum of the squares, in double and in a fixed order.
double sumOfSquares(const float* values, std::int64_t size);

}  // namespace millrace::train
