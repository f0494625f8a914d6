#pragma once
// The time range and looks that the strips and charts of Watch use for the selected jobs.
//
// Threads: the GUI thread; plain functions over the models.
#include <string>
#include <vector>

#include "app/gui/models/curve_store.h"
#include "app/gui/models/live/lane_model.h"
#include "app/gui/models/run_colors.h"

namespace millrace::gui {

/// Whether one of these jobs has not ended.
bool areGoing(const LaneModel& lanes, const std::vector<std::string>& runs);
/// From the first start of these jobs to their last end; if one of them is active, a little beyond
/// `nowMs`. Empty if none has started.
CurveRange shownTime(const LaneModel& lanes, const std::vector<std::string>& runs,
                     std::int64_t nowMs);
/// Gives different looks to the jobs of the charts, and to all lanes while there are enough looks.
/// Returns true if a look has changed.
bool assignLooks(RunColors& colors, const LaneModel& lanes, const std::vector<std::string>& runs);

}  // namespace millrace::gui
