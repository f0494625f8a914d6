#include "app/gui/bridge/live_inbox.h"

#include <algorithm>
#include <iterator>

namespace millrace::gui {

void LiveInbox::addMetrics(session::MetricsAdded added) {
    Run& run = runs_[added.runId];
    for (const values::MetricLine& line : added.lines) {
        numPoints_ += line.values.size();
    }
    auto& waiting = run.delta.lines;
    waiting.insert(waiting.end(), std::make_move_iterator(added.lines.begin()),
                   std::make_move_iterator(added.lines.end()));
    run.delta.names = std::move(added.names);
    run.isComplete = run.isComplete || added.isCaughtUp;
    isPending_ = run.isPending = true;
}

void LiveInbox::dropAfter(const std::string& id, std::int64_t step) {
    Run& run = runs_[id];
    std::erase_if(run.delta.lines, [&](const values::MetricLine& line) {
        const bool isVoid = line.step > step;
        numPoints_ -= isVoid ? line.values.size() : 0;
        return isVoid;
    });
    run.delta.dropAfterStep = std::min(run.delta.dropAfterStep.value_or(step), step);
    isPending_ = run.isPending = true;
}

void LiveInbox::endMetrics(const std::string& id) {
    Run& run = runs_[id];
    run.delta.hasEnded = run.isComplete = true;
    isPending_ = run.isPending = true;
}

void LiveInbox::addLines(std::vector<values::LogLine> lines, std::uint64_t dropped) {
    auto& waiting = content_.logs.lines;
    waiting.insert(waiting.end(), std::make_move_iterator(lines.begin()),
                   std::make_move_iterator(lines.end()));
    content_.logs.droppedLines += dropped;
    content_.hasLogs = isPending_ = true;
}

std::uint64_t LiveInbox::dropLines(std::size_t most) {
    auto& waiting = content_.logs.lines;
    if (waiting.size() <= most) {
        return 0;
    }
    const std::size_t tooMany = waiting.size() - most;
    waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(tooMany));
    content_.logs.droppedLines += tooMany;
    return tooMany;
}

void LiveInbox::endLogs() {
    content_.logs.hasEnded = true;
    content_.hasLogs = isPending_ = true;
}

LiveInbox::Content LiveInbox::take() {
    for (auto& [id, run] : runs_) {
        if (run.isPending) {
            run.isPending = false;
            run.delta.isComplete = run.isComplete;
            content_.metrics.emplace_back(id, std::exchange(run.delta, {}));
        }
    }
    numPoints_ = 0;
    isPending_ = false;
    return std::exchange(content_, {});
}

}  // namespace millrace::gui
