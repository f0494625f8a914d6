#pragma once
// RunLive: what the daemon knows about a run in progress beyond its stored row.
//
// The agent merges it into the run's RunSummary and RunDetail; nothing else uses it separately.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/values/frame_traffic.h"
#include "backend/values/hand_over.h"
#include "backend/values/phase_times.h"
#include "backend/values/rank_now.h"

namespace millrace::values {

struct WorkerInfo {
    std::string name;  ///< "feed", "rank0"
    /// "starting", "running", "ended"; for a stuck worker "stopped", "silent", "hung", "waiting";
    /// "unguarded" while its guardian does not answer
    std::string state;
    int pid = 0;  ///< of the command; 0: unknown
    int exitCode = 0;
    int attempt = 1;
    std::string node;  ///< its node, as NodeInfo::name; "": unknown
    bool operator==(const WorkerInfo&) const = default;
};

struct RunLive {
    std::string queuedReason;
    std::optional<PhaseTimes> times;  ///< as in Progress, like the next two; none: use the store's
    std::optional<double> stallPercentNow, stepsPerSecond;
    std::int64_t progressMs = 0;
    std::int64_t epochs = 0;
    int attempt = 0;
    std::int64_t resumeStep = 0;     ///< the step that `attempt` started after
    std::string trouble;             ///< what is wrong now, in sentences; "": nothing
    std::int64_t standsSinceMs = 0;  ///< stuck since then, UTC ms; 0: it makes progress
    std::vector<WorkerInfo> workers;
    std::vector<RankNow> ranks;        ///< by rank, at most kRanksTold
    std::optional<HandOver> handOver;  ///< none: no checkpoint is in transfer
    FrameTraffic traffic;              ///< of `attempt`
    bool operator==(const RunLive&) const = default;
};

}  // namespace millrace::values
