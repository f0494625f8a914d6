#pragma once
// LiveInbox: metrics and log lines of one following that wait for the GUI thread.
//
// A plain value without locks; the mailbox bounds it. Metrics are never left out. Above the limit
// the oldest log lines are left out and counted.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/bridge/live_values.h"
#include "app/session/follow_events.h"

namespace millrace::gui {

class LiveInbox {
 public:
    struct Content {
        std::vector<std::pair<std::string, MetricsDelta>> metrics;  ///< run, its changes
        LogsDelta logs;
        bool hasLogs = false;
    };

    void addMetrics(session::MetricsAdded added);
    /// A new attempt: discards everything after this step.
    void dropAfter(const std::string& run, std::int64_t step);
    void endMetrics(const std::string& run);

    void addLines(std::vector<values::LogLine> lines, std::uint64_t dropped);
    /// Leaves out the oldest lines above `most`; returns how many.
    std::uint64_t dropLines(std::size_t most);
    void endLogs();

    bool isPending() const { return isPending_; }
    /// The number of values in the waiting lines.
    std::size_t numPoints() const { return numPoints_; }
    std::size_t numLines() const { return content_.logs.lines.size(); }
    Content take();

 private:
    struct Run {
        MetricsDelta delta;
        bool isComplete = false, isPending = false;
    };

    std::map<std::string, Run> runs_;
    std::size_t numPoints_ = 0;
    Content content_;
    bool isPending_ = false;
};

}  // namespace millrace::gui
