#pragma once
// Which optimizers there are, their options and their state: SGD, Adagrad, row-wise Adagrad, AdamW.
//
// The formulas are PyTorch's; row-wise Adagrad adds a row's mean squared gradient to one sum per
// row (FBGEMM's EXACT_ROWWISE_ADAGRAD). Embedding tables are updated lazily: only rows that the
// step touched are read or written, as in PyTorch's SparseAdam. For SGD without momentum and for
// Adagrad that is exact. With momentum and AdamW, the moments (and the weight decay) of an
// untouched row pause until it is touched again. AdamW's bias correction counts the model's
// updates, not the row's. Threads: none of its own.
#include <cstdint>
#include <string>

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

}  // namespace millrace::train
