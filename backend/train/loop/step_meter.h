#pragma once
// Measures a rank: rows per second, share of time spent waiting for data, processor time.
//
// Rates cover the last half to one second, so that a single step does not make them jump. The stall
// share covers the time since the previous point. Weighted by time, its points therefore add up to
// the run's share, and no wait is missed. Threads: one owner.
#include <cstdint>

#include "backend/core/clock.h"
#include "backend/rank/rank_line.h"
#include "backend/train/learner.h"
#include "backend/train/loop/phase_clock.h"

namespace millrace::train {

/// Where the time so far was spent.
struct StepTimes {
    values::PhaseTimes phases;
    LearnerTimes learner;
};

class StepMeter {
 public:
    explicit StepMeter(const Clock& clock);
    /// Clears the window: call it after an evaluation or a checkpoint.
    void restart() { older_ = newer_ = now(); }
    /// True if the step that ends now should report rates: the first step, then at most ten times
    /// per second.
    bool ratesDue() const;
    /// Ends a step of `rows` rows. Adds the rates and the step's parts to `values` if they are due.
    void endStep(std::int64_t rows, const StepTimes& times, rank::Values& values);
    /// True at most five times per second.
    bool progressDue();
    /// True if no progress was due for a second: long work must report as well.
    bool isQuiet();

 private:
    struct Mark {
        std::int64_t timeNs = 0, rows = 0, steps = 0, cpuNs = 0;
        StepTimes times;
    };
    Mark now() const;
    static void addParts(const Mark& from, const Mark& to, rank::Values& values);
    void addStall(rank::Values& values);
    const Clock& clock_;
    std::int64_t startNs_, rows_ = 0, steps_ = 0;
    StepTimes times_;
    values::PhaseTimes told_;  // at the last point of the stall share
    std::int64_t lastRatesNs_ = 0, lastProgressNs_ = 0;
    Mark older_, newer_;
};

}  // namespace millrace::train
