#pragma once
// TimeAccount: where the time of a run went, over all its attempts, from what rank 0 counts in
// each.
//
// A rank counts from when its process begins to; what passes before and between attempts is the
// run's start, and what passes after its last report the ending (closed by the store). So the parts
// sum to the time since the first attempt was made (of a run that was stopped and resumed, without
// the time in between). Threads: one owner.
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "backend/rank/rank_line.h"
#include "backend/runs/run_lines.h"
#include "backend/values/phase_edges.h"
#include "backend/values/run_live.h"
#include "daemon/agent/times/recent_reports.h"

namespace millrace::agent {

using TimeLines = std::vector<runs::ReportedLine>;

class TimeAccount {
 public:
    /// The newest attempt that the store has goes on; nothing of it has been heard here. Of one
    /// that an earlier daemon heard, the store's times are the newest: `live` has none then.
    void begin(const Result<std::vector<runs::AttemptRecord>>& attempts, values::RunLive& live);
    /// A report of rank 0, the newest of `recent`, into `live`; `nowMs`: UTC. Returns lines to
    /// store: the times of the run and, of several ranks as far as the store keeps them apart, of
    /// each, where PhaseEdges picks them.
    TimeLines heard(const rank::Progress& report, const RecentReports& recent, std::int64_t nowMs,
                    values::RunLive& live);

 private:
    /// The reports of the run (kNoRank) or of a rank.
    struct Reports {
        values::PhaseEdges edges;
        std::int64_t timeMs = 0, standsSinceMs = 0;  // of the newest
        bool isWaiting = false;
        double standingMs = 0;
    };
    std::optional<runs::ReportedLine> follow(const values::RankNow& now,
                                             const rank::Progress& report);

    values::PhaseTimes before_;            // of older attempts
    std::int64_t startedMs_ = 0;           // the attempt, UTC
    std::optional<double> leadMs_;         // from then until its rank began to count
    std::optional<double> storedStartMs_;  // of an attempt that an earlier daemon heard, both
    std::map<int, Reports> reports_;       // by rank
};

}  // namespace millrace::agent
