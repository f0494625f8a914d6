#include "backend/values/run_summary.h"

#include <algorithm>

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

std::optional<double> RunSummary::stallPercent() const {
    const bool isKnown = progress.times && progress.times->sum() > 0;
    return isKnown ? std::optional(progress.times->stallPercent()) : std::nullopt;
}

std::optional<double> RunSummary::secondsLeft() const {
    const bool isGoing = !isEnded(state) && state != RunState::kQueued && !isStalled();
    if (!isGoing || progress.stepsTotal <= 0 || progress.stepsPerSecond.value_or(0) <= 0) {
        return std::nullopt;
    }
    const std::int64_t steps = std::max<std::int64_t>(0, progress.stepsTotal - progress.step);
    return static_cast<double>(steps) / *progress.stepsPerSecond;
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
