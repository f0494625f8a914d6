#include "app/gui/bridge/live_inbox.h"

#include <algorithm>
#include <iterator>

namespace millrace::gui {

LiveInbox::LiveInbox(std::vector<std::string> runs, std::int64_t fromStep) : fromStep_(fromStep) {
    for (std::string& run : runs) {
        runs_.try_emplace(std::move(run));
    }
}

void LiveInbox::settle(Run& run) {
    isPending_ = run.isPending = true;
    if (run.isComplete || !run.isExpected) {
        return;
    }
    run.isComplete = std::all_of(run.expected.begin(), run.expected.end(), [&](const auto& one) {
        const auto seen = run.seen.find(one.first);
        return one.second < fromStep_ || (seen != run.seen.end() && seen->second >= one.second);
    });
}

void LiveInbox::addPoints(const std::string& id, std::vector<client::MetricPoint> points) {
    Run& run = runs_[id];
    numPoints_ += points.size();
    for (const client::MetricPoint& point : points) {
        run.seen[point.name] = point.step;
    }
    auto& waiting = run.delta.points;
    waiting.insert(waiting.end(), std::make_move_iterator(points.begin()),
                   std::make_move_iterator(points.end()));
    settle(run);
}

void LiveInbox::dropAfter(const std::string& id, std::int64_t step) {
    Run& run = runs_[id];
    auto& waiting = run.delta.points;
    numPoints_ -= std::erase_if(
        waiting, [step](const client::MetricPoint& point) { return point.step > step; });
    run.delta.dropAfterStep = std::min(run.delta.dropAfterStep.value_or(step), step);
    run.expected.clear();  // they were the attempt's before
    settle(run);
}

void LiveInbox::endMetrics(const std::string& id) {
    Run& run = runs_[id];
    run.delta.hasEnded = run.isComplete = true;
    settle(run);
}

void LiveInbox::expect(const std::string& id, const Steps& newest) {
    Run& run = runs_[id];
    if (!run.isExpected) {
        run.isExpected = true;
        run.expected = newest;
        settle(run);
    }
}

std::vector<std::string> LiveInbox::unexpected() const {
    std::vector<std::string> ids;
    for (const auto& [id, run] : runs_) {
        if (!run.isExpected && !run.isComplete) {
            ids.push_back(id);
        }
    }
    return ids;
}

void LiveInbox::addLines(std::vector<client::LogLine> lines, std::uint64_t dropped) {
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
