#pragma once
// RankLane: one rank of a run as its lane shows it, over time.
//
// Its strip and its stall follow the same rules as a run's (lane_tracker.h,
// session/run_progress.h), applied to the rank's reports. Threads: the GUI thread. Owns: its spans.
// Failure: none; values that a rank does not report are empty.
#include <QString>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "app/gui/models/live/lane_tracker.h"
#include "app/session/run_progress.h"
#include "backend/values/run_summary.h"

namespace millrace::gui {

struct RankLane {
    values::RankNow now;      ///< as last reported
    values::RunSummary view;  ///< the run as this rank reports it
    LaneTracker tracker{LaneTracker::Options{2'000}};
    session::RunProgress progress;

    QString title() const;  ///< "rank 1"
    /// "training"; "stopped, 16 s".
    QString state(std::int64_t nowMs) const;
    /// Its trouble and how long it lasts; otherwise its activity and its step time. For tooltips.
    QString sentence(std::int64_t nowMs) const;
    /// Whether the rank itself makes no progress; false if it is only starved.
    bool stands() const;
    QString stepText() const;      ///< "step 1,240"; "" before the first
    QString stepTimeText() const;  ///< "12.3 ms"; "" before the first
    /// "12 s old" if its step time is out of date; otherwise "".
    QString oldStepText(std::int64_t nowMs) const;
};

/// "2 ranks, rank 1 does not get on".
QString ranksText(const std::vector<RankLane>& ranks);
/// Updates the lanes for the run at `nowMs`: removes lanes of ranks that it no longer has; those of
/// a run that has ended stay.
void followRanks(std::vector<RankLane>& ranks, const values::RunSummary& run, std::int64_t nowMs);
/// Sets the stored times of one rank; creates its lane if missing.
void setRankHistory(std::vector<RankLane>& ranks, int rank, const values::RunSummary& run,
                    std::span<const LaneTracker::Point> points, std::int64_t nowMs);

}  // namespace millrace::gui
