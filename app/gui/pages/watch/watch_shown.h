#pragma once
// What the strips and charts of Watch show of the selected jobs: which time, and in which looks.
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
/// From the first start of these jobs to their last end; where one of them goes on, a little ahead
/// of `nowMs`. Empty where none has started.
CurveRange shownTime(const LaneModel& lanes, const std::vector<std::string>& runs,
                     std::int64_t nowMs);
/// The jobs of the charts all differ, and so do all lanes while there are looks enough. True where
/// one that had a look has another.
bool assignLooks(RunColors& colors, const LaneModel& lanes, const std::vector<std::string>& runs);

}  // namespace millrace::gui
