#include "app/gui/models/runs/run_trends.h"

namespace millrace::gui {

const RunTrend* RunTrends::find(const std::string& runId, const std::string& metric) const {
    const auto place = places_.find({runId, metric});
    if (place == places_.end()) {
        return nullptr;
    }
    items_.splice(items_.begin(), items_, place->second);
    return &place->second->trend;
}

void RunTrends::put(const std::string& runId, const std::string& metric, RunTrend trend) {
    const Key key{runId, metric};
    if (const auto place = places_.find(key); place != places_.end()) {
        items_.erase(place->second);
        places_.erase(place);
    }
    items_.push_front({key, std::move(trend)});
    places_.emplace(key, items_.begin());
    while (items_.size() > kMostCurves) {
        places_.erase(items_.back().key);
        items_.pop_back();
    }
}

bool RunTrends::isStale(const values::RunSummary& run, const std::string& metric) const {
    const auto place = places_.find({run.id, metric});
    if (place == places_.end()) {
        return true;
    }
    const RunTrend& trend = place->second->trend;
    return trend.step != run.progress.step || trend.attempt != run.attempt ||
           trend.hasEnded != values::isEnded(run.state);
}

void RunTrends::clear() {
    places_.clear();
    items_.clear();
}

}  // namespace millrace::gui
