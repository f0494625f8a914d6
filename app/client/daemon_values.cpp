#include "app/client/daemon_values.h"

namespace millrace::client {
namespace {

const MetricPoint* find(const std::vector<MetricPoint>& points, std::string_view name) {
    for (const MetricPoint& point : points) {
        if (point.name == name) {
            return &point;
        }
    }
    return nullptr;
}

}  // namespace

std::string_view nameOf(RunState state) {
    switch (state) {
        case RunState::kQueued:
            return "queued";
        case RunState::kStarting:
            return "starting";
        case RunState::kRunning:
            return "running";
        case RunState::kStopping:
            return "stopping";
        case RunState::kFinished:
            return "finished";
        case RunState::kFailed:
            return "failed";
        case RunState::kCancelled:
            return "cancelled";
        case RunState::kUnknown:
            break;
    }
    return "unknown";
}

bool isEnded(RunState state) {
    return state == RunState::kFinished || state == RunState::kFailed ||
           state == RunState::kCancelled;
}

std::string_view nameOf(Phase phase) {
    switch (phase) {
        case Phase::kTraining:
            return "training";
        case Phase::kWaiting:
            return "waiting for data";
        case Phase::kCheckpoint:
            return "writing a checkpoint";
        case Phase::kEvaluating:
            return "evaluating";
        case Phase::kUnknown:
            break;
    }
    return "";
}

const MetricPoint* RunSummary::newest(std::string_view metricName) const {
    return find(latestMetrics, metricName);
}

const MetricPoint* RunSummary::best(std::string_view metricName) const {
    return find(bestMetrics, metricName);
}

std::optional<double> RunSummary::metric(std::string_view metricName) const {
    const MetricPoint* point = newest(metricName);
    return point != nullptr ? std::optional(point->value) : std::nullopt;
}

std::optional<double> RunSummary::rate() const {
    return isEnded(state) ? meanRate : metric("samples_per_second");
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

}  // namespace millrace::client
