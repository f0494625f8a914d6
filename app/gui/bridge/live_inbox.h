#pragma once
// Points and lines of one following that wait for the GUI thread.
//
// A plain value without locks; the mailbox bounds it. Points are never left out; lines above the
// limit are: the oldest, counted.
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/gui/bridge/live_values.h"

namespace millrace::gui {

class LiveInbox {
 public:
    using Steps = std::map<std::string, std::int64_t>;
    struct Content {
        std::vector<std::pair<std::string, MetricsDelta>> metrics;  ///< run, its changes
        LogsDelta logs;
        bool hasLogs = false;
    };

    LiveInbox(std::vector<std::string> runs, std::int64_t fromStep);

    void addPoints(const std::string& run, std::vector<client::MetricPoint> points);
    /// A new attempt: points after the step are void (-1: all).
    void dropAfter(const std::string& run, std::int64_t step);
    void endMetrics(const std::string& run);
    /// The newest steps of a run as the store has them; what is there is complete when these have
    /// come. Later calls change nothing.
    void expect(const std::string& run, const Steps& newest);
    /// Runs for which expect() has not been called.
    std::vector<std::string> unexpected() const;

    void addLines(std::vector<client::LogLine> lines, std::uint64_t dropped);
    /// Leaves out the oldest lines above `most`; how many.
    std::uint64_t dropLines(std::size_t most);
    void endLogs();

    bool isPending() const { return isPending_; }
    std::size_t numPoints() const { return numPoints_; }
    std::size_t numLines() const { return content_.logs.lines.size(); }
    Content take();

 private:
    struct Run {
        MetricsDelta delta;
        Steps seen, expected;
        bool isExpected = false, isComplete = false, isPending = false;
    };
    void settle(Run& run);

    std::map<std::string, Run> runs_;
    const std::int64_t fromStep_;
    std::size_t numPoints_ = 0;
    Content content_;
    bool isPending_ = false;
};

}  // namespace millrace::gui
