#pragma once
// RecentReports: what the newest reports of a rank say of now: how fast it steps, and how much of
// its time it waits for data. All faces show these, so that no two of them differ.
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

    /// A report of `step`, heard at `nowMs` (UTC). One of an earlier step, or with less time
    /// counted, is another attempt's: what was known is gone.
    void note(const values::PhaseTimes& times, std::int64_t step, std::int64_t nowMs);
    void clear() { reports_.clear(); }

    /// Steps over the time that they took, evaluations and checkpoints included and the start left
    /// out; none before two reports with a step in between.
    std::optional<double> stepsPerSecond() const;
    /// Share of the last seconds that were waited for data, percent; none before two reports.
    std::optional<double> stallPercent() const;

 private:
    struct Report {
        values::PhaseTimes times;
        std::int64_t step = 0, timeMs = 0;
    };
    /// The newest report that is at least so old, else the oldest.
    const Report& before(std::int64_t ageMs) const;

    std::deque<Report> reports_;
};

}  // namespace millrace::agent
