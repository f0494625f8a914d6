#pragma once
// RankNow: the daemon's view of one rank of a run in progress.
//
// A plain value, part of RunLive and RunSummary. Times are UTC ms since 1970, 0 if the event has
// not happened; an empty optional means unknown, never zero.
#include <cstdint>
#include <optional>
#include <string>

#include "backend/values/phase_times.h"
#include "backend/values/run_state.h"

namespace millrace::values {

/// A run with more ranks reports only its first kRanksTold ranks.
inline constexpr int kRanksTold = 256;

struct RankNow {
    int rank = 0;
    std::string state;               ///< as WorkerInfo::state
    std::string trouble;             ///< why it is stuck, one sentence; "": it is not
    std::int64_t standsSinceMs = 0;  ///< stuck since then; 0: it makes progress
    Phase phase = Phase::kUnknown;
    std::int64_t step = 0;                   ///< the last one taken
    std::optional<PhaseTimes> times;         ///< of its process in this attempt
    std::optional<double> stallPercentNow;   ///< as in Progress
    std::int64_t timeMs = 0;                 ///< time of its newest report
    std::optional<double> stepMs;            ///< duration of its newest step, including waits
    std::optional<double> stepStallPercent;  ///< share of that time spent waiting for data
    std::int64_t steppedMs = 0;              ///< when that step was reported
    bool operator==(const RankNow&) const = default;
};

}  // namespace millrace::values
