#pragma once
// RankNow: what one rank of a run that goes on does now, by what the daemon heard of it.
//
// A plain value, of RunLive and RunSummary. Times are UTC ms since 1970, 0 where it has not
// happened; an optional that is empty is unknown, never zero.
#include <cstdint>
#include <optional>
#include <string>

#include "backend/values/phase_times.h"
#include "backend/values/run_state.h"

namespace millrace::values {

/// Of a run with more ranks the first so many are told.
inline constexpr int kRanksTold = 256;

struct RankNow {
    int rank = 0;
    std::string state;               ///< as WorkerInfo::state
    std::string trouble;             ///< why it does not get on, one sentence; "": it does
    std::int64_t standsSinceMs = 0;  ///< it has not got on since; 0: it gets on
    Phase phase = Phase::kUnknown;
    std::int64_t step = 0;                   ///< the last one taken
    std::optional<PhaseTimes> times;         ///< of its process in this attempt
    std::optional<double> stallPercentNow;   ///< as of Progress
    std::int64_t timeMs = 0;                 ///< of its newest report
    std::optional<double> stepMs;            ///< that its newest step took, waiting included
    std::optional<double> stepStallPercent;  ///< of that time it waited for data
    std::int64_t steppedMs = 0;              ///< when that step was told
    bool operator==(const RankNow&) const = default;
};

}  // namespace millrace::values
