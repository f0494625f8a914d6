#pragma once
// Rates of a rank: rows a second, share of time spent waiting for data, processor time.
//
// Rates cover the last half to one second, so that a single step does not make them jump. Threads:
// one owner.
#include <cstdint>

#include "backend/core/clock.h"
#include "backend/rank/rank_line.h"

namespace millrace::train {

class StepMeter {
 public:
    explicit StepMeter(const Clock& clock);
    /// Forgets the window: after an evaluation or a checkpoint.
    void restart(std::int64_t stallNs);
    /// Whether the end of a step now would have rates: at most ten times a second.
    bool ratesDue() const;
    /// A step of `rows` rows ended; `stallNs` as BatchSource::stallNs(). Adds the rates to `values`
    /// where they are due.
    void endStep(std::int64_t rows, std::int64_t stallNs, rank::Values& values);
    /// True at most five times a second.
    bool progressDue();
    /// True when none was due for a second: long work is told as it goes on.
    bool isQuiet();
    double busyMs() const;   ///< since the start, without waiting for data
    double stallMs() const;  ///< since the start

 private:
    struct Mark {
        std::int64_t timeNs = 0, rows = 0, stallNs = 0, cpuNs = 0;
    };
    Mark now(std::int64_t stallNs) const;
    const Clock& clock_;
    std::int64_t startNs_, rows_ = 0, stallNs_ = 0;
    std::int64_t lastRatesNs_ = 0, lastProgressNs_ = 0;
    Mark older_, newer_;
};

}  // namespace millrace::train
