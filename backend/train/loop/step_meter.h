#pragma once
// Rates of a rank: rows a second, share of time spent waiting for data, processor time.
//
// Rates cover the last half to one second, so that a single step does not make them jump. The share
// of waiting is that since the point before: weighted by time, its points make the run's share, and
// no wait falls between two of them. Threads: one owner.
#include <cstdint>

#include "backend/core/clock.h"
#include "backend/rank/rank_line.h"
#include "backend/train/learner.h"
#include "backend/train/loop/phase_clock.h"

namespace millrace::train {

/// Where the time so far went.
struct StepTimes {
    values::PhaseTimes phases;
    LearnerTimes learner;
};

class StepMeter {
 public:
    explicit StepMeter(const Clock& clock);
    /// Forgets the window: after an evaluation or a checkpoint.
    void restart() { older_ = newer_ = now(); }
    /// Whether the end of a step now would have rates: the first one's, then at most ten times a
    /// second.
    bool ratesDue() const;
    /// A step of `rows` rows ended. Adds the rates and a step's parts to `values` where they are
    /// due.
    void endStep(std::int64_t rows, const StepTimes& times, rank::Values& values);
    /// True at most five times a second.
    bool progressDue();
    /// True when none was due for a second: long work is told as it goes on.
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
    values::PhaseTimes told_;  // at the last point of the share of waiting
    std::int64_t lastRatesNs_ = 0, lastProgressNs_ = 0;
    Mark older_, newer_;
};

}  // namespace millrace::train
