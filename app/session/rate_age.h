#pragma once
// RateAge: how old the rates of a run are (samples a second, stall), so that nobody takes one of a
// time that is gone for what happens now.
//
// By the clock here, from when they came: the daemon's may differ. Threads: a value.
#include <cstdint>
#include <optional>

#include "backend/values/run_summary.h"

namespace millrace::session {

/// For who looks once: the age of the rate of a run that goes on, s, where it is to be said (above
/// 5 s); by the time that its report bears.
std::optional<double> oldRateSeconds(const values::RunSummary& run, std::int64_t nowMs);

class RateAge {
 public:
    /// The run as it was just told.
    void note(const values::RunSummary& run, std::int64_t nowMs);
    /// The age where it is to be said: above 5 s, of a run that goes on, s.
    std::optional<double> oldSeconds(const values::RunSummary& run, std::int64_t nowMs) const;
    /// True when a forecast from reports so old says nothing: the run does not get on, or has not
    /// reported for 15 s.
    bool isForecastVoid(const values::RunSummary& run, std::int64_t nowMs) const;

 private:
    std::int64_t ratesMs_ = -1, reportMs_ = -1;  // the run's own times
    std::int64_t ratesSeenMs_ = 0, reportSeenMs_ = 0;
};

}  // namespace millrace::session
