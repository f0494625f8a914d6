#pragma once
// EarlyStop: the best evaluation so far, and how many evaluations since then did not improve on it.
// The trainer asks it whether to stop.
//
// A value: state() has what a resume needs. Threads: one owner. Failure: none; NaN never counts as
// an improvement.
#include <cstdint>
#include <limits>
#include <string>

#include "backend/text/json.h"

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
    /// Takes the evaluation of `step`; true if it is the best so far.
    bool take(std::int64_t step, double value);
    /// True once patience is used up.
    bool isDue() const { return isOn() && worse_ >= options_.patience; }
    /// -1: no evaluation yet.
    std::int64_t bestStep() const { return bestStep_; }
    /// For people: why a stop is due, or which evaluation was the best; "" before the first one.
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
