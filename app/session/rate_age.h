#pragma once
// RateAge: the age of a run's rates (samples per second, stall), so that no view presents an old
// rate as a current one.
//
// Measured by the local clock, from when the rates arrived: the daemon's clock may differ. Threads:
// a value.
#include <cstdint>
#include <optional>

#include "backend/values/run_summary.h"

namespace millrace::session {

/// For a single look: the age in seconds of an active run's rate, by the time in its report.
/// Returns nothing up to 5 s.
std::optional<double> oldRateSeconds(const values::RunSummary& run, std::int64_t nowMs);

class RateAge {
 public:
    /// Call this with each summary that arrives.
    void note(const values::RunSummary& run, std::int64_t nowMs);
    /// The age in seconds of an active run's rates. Returns nothing up to 5 s.
    std::optional<double> oldSeconds(const values::RunSummary& run, std::int64_t nowMs) const;
    /// True when the reports are too old for a forecast: the run makes no progress, or has not
    /// reported for 15 s.
    bool isForecastVoid(const values::RunSummary& run, std::int64_t nowMs) const;

 private:
    std::int64_t ratesMs_ = -1, reportMs_ = -1;  // the run's own times
    std::int64_t ratesSeenMs_ = 0, reportSeenMs_ = 0;
};

}  // namespace millrace::session
