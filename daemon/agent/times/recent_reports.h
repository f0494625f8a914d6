#pragma once
// RecentReports: a rank's current speed and stall, computed from its newest reports. All clients
// show these values, so that no two of them differ.
//
// Bounded: a report every 400 ms of the last minute. Threads: one owner.
#include <cstdint>
#include <deque>
#include <optional>

#include "backend/values/phase_times.h"

namespace millrace::agent {

class RecentReports {
 public:
    static constexpr std::int64_t kPaceMs = 60'000;  ///< the pace is that of the last minute
    static constexpr std::int64_t kStallMs = 5'000;

    /// Takes a report of `step`, received at `nowMs` (UTC). A report of an earlier step, or with
    /// less time counted, belongs to another attempt: it clears the earlier reports.
    void note(const values::PhaseTimes& times, std::int64_t step, std::int64_t nowMs);
    void clear() { reports_.clear(); }

    /// Steps divided by their time, including evaluations and checkpoints but not the start.
    /// Nothing before there are two reports with a step in between.
    std::optional<double> stepsPerSecond() const;
    /// Share of the last seconds spent waiting for data, percent; nothing before two reports.
    std::optional<double> stallPercent() const;

 private:
    struct Report {
        values::PhaseTimes times;
        std::int64_t step = 0, timeMs = 0;
    };
    /// The newest report that is at least that old, else the oldest.
    const Report& before(std::int64_t ageMs) const;

    std::deque<Report> reports_;
};

}  // namespace millrace::agent
