#pragma once
// RankLane: one rank of a run as its lane shows it, over time.
//
// Its strip and its stall follow the rules of a run's own (lane_tracker.h, session/run_progress.h),
// fed with what the rank says. Threads: the GUI thread. Owns: its spans. Failure: none; what a rank
// does not tell is empty.
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
    values::RankNow now;      ///< as it was told last
    values::RunSummary view;  ///< the run as this rank tells it
    LaneTracker tracker{LaneTracker::Options{2'000}};
    session::RunProgress progress;

    QString title() const;  ///< "rank 1"
    /// "training"; "stopped, 16 s".
    QString state(std::int64_t nowMs) const;
    /// What is wrong with it and for how long; else what it does and what its steps take: for tool
    /// tips.
    QString sentence(std::int64_t nowMs) const;
    /// It does not get on itself; false where it is only starved.
    bool stands() const;
    QString stepText() const;      ///< "step 1,240"; "" before the first
    QString stepTimeText() const;  ///< "12.3 ms"; "" before the first
    /// "12 s old" where its step time is of a time that is gone; "" else.
    QString oldStepText(std::int64_t nowMs) const;
};

/// "2 ranks, rank 1 does not get on".
QString ranksText(const std::vector<RankLane>& ranks);
/// The run as it is at `nowMs`: lanes of ranks that it has no more go, those of one that has ended
/// stay.
void followRanks(std::vector<RankLane>& ranks, const values::RunSummary& run, std::int64_t nowMs);
/// What is stored of one rank's times; a lane that is not there is made.
void setRankHistory(std::vector<RankLane>& ranks, int rank, const values::RunSummary& run,
                    std::span<const LaneTracker::Point> points, std::int64_t nowMs);

}  // namespace millrace::gui
