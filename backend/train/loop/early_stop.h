#pragma once
// Whether a run still learns: the best evaluation so far, and how many came since that were no
// better.
//
// A value: what a resume needs is in state(). Threads: one owner. Failure: none; a figure that is
// NaN is no better than any.
#include <cstdint>
#include <limits>
#include <string>

#include "backend/core/json.h"

namespace millrace::train {

struct EarlyStopOptions {
    std::string metric;         ///< "eval.normalized_entropy"
    std::int64_t patience = 0;  ///< evaluations in a row that may be no better; 0: never stops
    double minDelta = 0;        ///< smallest change that counts as an improvement
    bool isHigherBetter = false;
};

class EarlyStop {
 public:
    explicit EarlyStop(EarlyStopOptions options) : options_(std::move(options)) {}

    bool isOn() const { return options_.patience > 0; }
    const std::string& metric() const { return options_.metric; }
    /// An evaluation of that step: true when it is the best so far.
    bool take(std::int64_t step, double value);
    /// Patience has come to its end.
    bool isDue() const { return isOn() && worse_ >= options_.patience; }
    /// -1: there is none.
    std::int64_t bestStep() const { return bestStep_; }
    /// For people: why it is due, or which was the best; "" before an evaluation.
    std::string sentence() const;

    Json state() const;
    void restore(const Json& state);

 private:
    EarlyStopOptions options_;
    double best_ = std::numeric_limits<double>::quiet_NaN();
    std::int64_t bestStep_ = -1;
    std::int64_t worse_ = 0;  ///< evaluations since the best
};

}  // namespace millrace::train
