#pragma once
// Metrics of an evaluation, exact and in double (SEMANTICS 3). Pure functions.
#include <cstdint>
#include <utility>
#include <vector>

#include "backend/train/batch.h"

namespace millrace::train {

/// Undefined metrics are NaN: AUC and normalised entropy if all labels are of one class,
/// calibration without a positive label, every metric without rows.
struct EvalFigures {
    double auc = 0;
    double logLoss = 0;
    double normalizedEntropy = 0;  ///< log loss / entropy of the rows' base rate
    double calibration = 0;        ///< mean prediction / mean label
    std::int64_t rows = 0;         ///< rows with a label
    std::int64_t rowsWithoutLabel = 0;
    std::int64_t positives = 0;  ///< rows with a label above 0.5
    double labelSum = 0;
};

/// P(a positive's prediction > a negative's) + P(equal) / 2; sorts in place.
double exactAuc(std::vector<std::pair<double, bool>>& predictions);

/// Collects one head's predictions. Labels above 0.5 are positive for AUC; log loss uses them
/// unchanged. The log loss keeps predictions 1e-12 away from 0 and 1.
class EvalAccumulator {
 public:
    /// The prediction of row r is probabilities[r * stride].
    void add(std::int64_t rows, const double* probabilities, std::int64_t stride,
             const HeadColumn& head);
    EvalFigures figures();

 private:
    std::vector<std::pair<double, bool>> predictions_;
    double loss_ = 0, labels_ = 0, sum_ = 0;
    std::int64_t withoutLabel_ = 0;
};

}  // namespace millrace::train
