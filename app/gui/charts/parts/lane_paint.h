#pragma once
// Paints one lane of a job over time: training, waiting for data, checkpoint, evaluating, idle.
//
// An open span grows to `nowMs`. A column of pixels with several phases shows the share of each.
// Threads: the GUI thread. Owns: nothing. Failure: none; spans outside the range are left out.
#include <QColor>
#include <QPalette>
#include <QRectF>
#include <QString>
#include <optional>
#include <vector>

#include "app/gui/models/lane_phase.h"

class QPainter;

namespace millrace::gui {

struct LaneSpan {
    double fromMs = 0;
    double toMs = 0;  ///< infinity: still in progress
    LanePhase phase = LanePhase::kIdle;
};
struct Lane {
    std::vector<LaneSpan> spans;    ///< by rising time
    std::optional<double> endedMs;  ///< the job ended: the lane stops there
};

QColor lanePhaseColor(LanePhase phase, const QPalette& palette);

/// Maps fromMs..toMs to the width of the rectangle.
void paintLane(QPainter& painter, const QRectF& rect, const Lane& lane, double fromMs, double toMs,
               double nowMs, const QPalette& palette);

}  // namespace millrace::gui
