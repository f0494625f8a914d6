#pragma once
// How the ranks of a job look in the list of jobs: a thin row each, in the job's columns.
//
// Threads: the GUI thread. Owns: nothing. Failure: none; what a rank does not tell is a dash.
#include <QRect>

#include "app/gui/charts/parts/chart_content.h"
#include "app/gui/charts/parts/lane_paint.h"
#include "app/gui/models/live/rank_lane.h"
#include "app/gui/widgets/live/lane_layout.h"

class QPainter;
class QWidget;

namespace millrace::gui {

struct RankRow {
    const RankLane& rank;
    const Lane& lane;
    QRect rect, strip;
    const LaneColumns& columns;
    CurveRange time;  ///< that the strip shows
    std::int64_t nowMs = 0;
};
/// `in` has the font and the palette.
void paintRankRow(QPainter& painter, const RankRow& row, const QWidget& in);

/// "▾ 2 ranks" at its place; red where one does not get on.
void paintFold(QPainter& painter, const QRect& rect, const LaneState& state, bool isOpen,
               const QWidget& in);

/// A lane for the painter, of what was tracked.
Lane paintableLane(const LaneTracker& tracker, const values::RunSummary& run);

}  // namespace millrace::gui
