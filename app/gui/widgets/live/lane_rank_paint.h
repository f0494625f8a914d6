#pragma once
// Paints the ranks of a job in the list of jobs: a thin row each, in the job's columns.
//
// Threads: the GUI thread. Owns: nothing. Failure: none; values that a rank does not report are a
// dash.
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
    CurveRange time;  ///< the strip's range
    std::int64_t nowMs = 0;
};
/// `in` supplies the font and the palette.
void paintRankRow(QPainter& painter, const RankRow& row, const QWidget& in);

/// "▾ 2 ranks"; red if one makes no progress.
void paintFold(QPainter& painter, const QRect& rect, const LaneState& state, bool isOpen,
               const QWidget& in);

/// Converts tracked spans to a lane for the painter.
Lane paintableLane(const LaneTracker& tracker, const values::RunSummary& run);

}  // namespace millrace::gui
