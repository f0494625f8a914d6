#pragma once
// Weighted binary cross entropy over heads, as sums (SEMANTICS 3). Pure functions.
#include <cstdint>
#include <vector>

#include "backend/train/batch.h"

namespace millrace::train {

/// Sums over the rows whose label is present: loss = sum(w * loss), weight = sum(w), one per head.
struct LossSums {
    std::vector<double> loss, weight;
    std::int64_t rows = 0;

    LossSums& operator+=(const LossSums& other);
    double totalLoss() const;
    double totalWeight() const;
    /// sum(w * loss) / sum(w) over all heads; NaN for a step of weight 0.
    double mean() const { return totalLoss() / totalWeight(); }
    double meanOf(std::size_t head) const { return loss[head] / weight[head]; }
};

/// Adds only the batch's rows and weights.
void addWeights(const BatchView& batch, LossSums& sums);

/// Adds the batch's sums for given probabilities [rows, heads].
void addLoss(const BatchView& batch, const std::vector<double>& probabilities, LossSums& sums);

}  // namespace millrace::train
