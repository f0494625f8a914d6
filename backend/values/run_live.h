#pragma once
// RunLive: what the daemon knows of a run beside its stored row, while it goes on.
//
// The agent puts it into the run's RunSummary and RunDetail; nobody else sees it apart.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/values/hand_over.h"
#include "backend/values/phase_times.h"
#include "backend/values/rank_now.h"

namespace millrace::values {

struct WorkerInfo {
    std::string name;  ///< "feed", "rank0"
    /// "starting", "running", "ended"; of one that stands still "stopped", "silent", "hung",
    /// "waiting"; "unguarded" while its guardian does not answer
    std::string state;
    int pid = 0;  ///< of the command; 0: unknown
    int exitCode = 0;
    int attempt = 1;
    std::string node;  ///< where it is, as NodeInfo::name; "": not known
    bool operator==(const WorkerInfo&) const = default;
};

struct RunLive {
    std::string queuedReason;
    std::optional<PhaseTimes> times;  ///< as of Progress, like the next two; none: the store's
    std::optional<double> stallPercentNow, stepsPerSecond;
    std::int64_t progressMs = 0;
    std::int64_t epochs = 0;
    int attempt = 0;
    std::int64_t resumeStep = 0;     ///< the step that `attempt` started after
    std::string trouble;             ///< what is wrong now, sentences; "": nothing
    std::int64_t standsSinceMs = 0;  ///< it has not got on since, UTC ms; 0: it gets on
    std::vector<WorkerInfo> workers;
    std::vector<RankNow> ranks;        ///< by rank, kRanksTold at most
    std::optional<HandOver> handOver;  ///< nothing: no checkpoint is on its way
    bool operator==(const RunLive&) const = default;
};

}  // namespace millrace::values
