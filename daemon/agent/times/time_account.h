#pragma once
// TimeAccount: where the time of a run went, over all its attempts, from what rank 0 counts in
// each. Used by ActiveRun.
//
// A rank counts from the start of its process. Time before and between attempts is the run's start;
// time after its last report is the ending (closed by the store). So the parts sum to the time
// since the first attempt was made. For a run that was stopped and resumed they exclude the time in
// between. Threads: one owner.
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
    /// Begins with the newest attempt in the store; nothing was received from it here. If an
    /// earlier daemon received reports of it, the store's times are the newest, and `live` gets
    /// none yet.
    void begin(const Result<std::vector<runs::AttemptRecord>>& attempts, values::RunLive& live);
    /// A report of rank 0, the newest of `recent`, into `live`; `nowMs`: UTC. Returns lines to
    /// store: the times of the run and, of several ranks as far as the store keeps them apart, of
    /// each, where PhaseEdges picks them.
    TimeLines heard(const rank::Progress& report, const RecentReports& recent, std::int64_t nowMs,
                    values::RunLive& live);
    /// Notes what is stalled now.
    void look(std::int64_t nowMs, const values::RunLive& live);
    /// Call at the end of the run. Returns the lines of stalls that no report has ended.
    TimeLines lastStalls() const;

 private:
    /// The reports of the run (kNoRank) or of a rank.
    struct Reports {
        values::PhaseEdges edges;
        values::PhaseEdges::Report last;
        std::int64_t timeMs = 0, standsSinceMs = 0;           // of the newest
        std::int64_t stalledSinceMs = 0, stalledUntilMs = 0;  // after it; 0: it was not stalled
        bool isWaiting = false;
        double standingMs = 0;
    };
    void note(int rank, std::int64_t sinceMs, std::int64_t nowMs);
    std::optional<runs::ReportedLine> follow(const values::RankNow& now,
                                             const rank::Progress& report);

    values::PhaseTimes before_;            // of older attempts
    std::int64_t startedMs_ = 0;           // of the attempt, UTC
    std::optional<double> leadMs_;         // from then until its rank began to count
    std::optional<double> storedStartMs_;  // of an attempt that an earlier daemon heard, both
    std::map<int, Reports> reports_;       // by rank
};

}  // namespace millrace::agent
