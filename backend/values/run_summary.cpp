#include "backend/values/run_summary.h"

#include "backend/values/metric_names.h"

namespace millrace::values {
namespace {

const RunFigure* find(const std::vector<RunFigure>& points, std::string_view name) {
    for (const RunFigure& point : points) {
        if (point.name == name) {
            return &point;
        }
    }
    return nullptr;
}

}  // namespace

const RunFigure* RunSummary::newest(std::string_view metricName) const {
    return find(latestMetrics, metricName);
}

const RunFigure* RunSummary::best(std::string_view metricName) const {
    return find(bestMetrics, metricName);
}

std::optional<double> RunSummary::metric(std::string_view metricName) const {
    const RunFigure* point = newest(metricName);
    return point != nullptr ? std::optional(point->value) : std::nullopt;
}

std::optional<double> RunSummary::rate() const {
    return isEnded(state) ? meanRate : metric(metric::kSamplesPerSecond);
}

std::string_view RunSummary::stateWord() const {
    return isPurged() ? "purged" : isStalled() ? "stalled" : nameOf(state);
}

const std::string& RunSummary::reason() const {
    if (isEnded(state)) {
        return exitReason;
    }
    if (!trouble.empty()) {
        return trouble;
    }
    return state == RunState::kStopping && !exitReason.empty() ? exitReason : queuedReason;
}

}  // namespace millrace::values
