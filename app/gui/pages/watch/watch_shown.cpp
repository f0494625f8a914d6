#include "app/gui/pages/watch/watch_shown.h"

#include <algorithm>
#include <cmath>

namespace millrace::gui {
namespace {

// A little more than the time so far: each new border redraws every curve.
CurveRange ahead(CurveRange time) {
    const double step = std::clamp((time.high - time.low) / 10, 5'000.0, 60'000.0);
    const double coarse = std::exp2(std::floor(std::log2(step)));  // otherwise the step itself
                                                                   // would change
    time.high = time.low + std::ceil((time.high - time.low) / coarse) * coarse;
    return time;
}

}  // namespace

bool areGoing(const LaneModel& lanes, const std::vector<std::string>& runs) {
    return std::ranges::any_of(runs, [&](const std::string& run) {
        const LaneState* lane = lanes.find(run);
        return lane != nullptr && !lane->isEnded();
    });
}

CurveRange shownTime(const LaneModel& lanes, const std::vector<std::string>& runs,
                     std::int64_t nowMs) {
    CurveRange time;
    for (const std::string& run : runs) {
        const LaneState* lane = lanes.find(run);
        if (lane != nullptr && lane->run.startedMs > 0) {
            const std::int64_t end = lane->isEnded() ? lane->run.endedMs : nowMs;
            time.low = std::min(time.low, static_cast<double>(lane->run.startedMs));
            time.high = std::max(time.high, static_cast<double>(end));
        }
    }
    return !time.isEmpty() && areGoing(lanes, runs) ? ahead(time) : time;
}

bool assignLooks(RunColors& colors, const LaneModel& lanes, const std::vector<std::string>& runs) {
    std::vector<RunColors::Shown> all, selected;
    for (int row = 0; row < lanes.numLanes(); ++row) {
        const values::RunSummary& run = lanes.lane(row).run;
        all.push_back({run.id, run.variationOf});
    }
    for (const std::string& id : runs) {
        const LaneState* lane = lanes.find(id);
        selected.push_back({id, lane == nullptr ? std::string() : lane->run.variationOf});
    }
    const bool isNew = colors.assign("watch lanes", all);
    return colors.assign("watch charts", selected) || isNew;
}

}  // namespace millrace::gui
