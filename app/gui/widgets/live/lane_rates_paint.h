#pragma once
// Paints the figures of a job's lane: its speed, its data stall now and over the whole run, and the
// time left. Threads: the GUI thread. Pure but for the painter.
#include <QRect>
#include <cstdint>

#include "app/gui/models/live/lane_model.h"
#include "app/gui/widgets/live/lane_layout.h"

class QPainter;
class QWidget;

namespace millrace::gui {

struct RatesRow {
    const LaneState& state;
    QRect rect;  ///< of the lane
    const LaneColumns& columns;
    std::int64_t nowMs = 0;
    bool isAway = false;  ///< the daemon's: the present state is unknown
};

void paintRates(QPainter& painter, const RatesRow& row, const QWidget& in);

}  // namespace millrace::gui
