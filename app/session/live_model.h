#pragma once
// The data behind a live view: runs with their series and last log lines, nodes with their history.
//
// A plain value that FollowEvents change; bounded. Threads: one owner; copy it to pass it on.
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "app/session/follow_events.h"
#include "app/session/run_progress.h"

namespace millrace::session {

/// Points by rising step; above a limit, neighbours are thinned out to their extremes.
class Series {
 public:
    void add(std::int64_t step, double value);
    void dropAfter(std::int64_t step);
    const std::vector<std::pair<double, double>>& points() const { return points_; }
    /// The values of the last `count` points.
    std::vector<double> tail(std::size_t count) const;
    std::optional<double> last() const;

 private:
    void thin();
    std::vector<std::pair<double, double>> points_;
};

struct LiveRun {
    values::RunSummary summary;
    std::map<std::string, Series> series;
    std::deque<values::LogLine> logs;  ///< the last 400
    RunProgress progress;

    std::optional<double> secondsLeft(std::int64_t nowMs) const {
        return progress.secondsLeft(summary, nowMs);
    }
    std::optional<double> oldRatesSeconds(std::int64_t nowMs) const {
        return progress.oldRatesSeconds(summary, nowMs);
    }
    double elapsedSeconds(std::int64_t nowMs) const {
        return session::elapsedSeconds(summary, nowMs);
    }
    /// The newest value, from the series or from the summary.
    std::optional<double> metric(const std::string& name) const;
};

struct LiveNode {
    values::NodeInfo info;
    values::NodeSample sample;
    std::int64_t receivedMs = 0;
    std::deque<double> cpuHistory, gpuHistory;  ///< the last 120 s, percent; NaN: unknown
};

struct LiveModel {
    Link link;
    std::map<std::string, LiveRun> runs;    ///< by id
    std::map<std::string, LiveNode> nodes;  ///< by name
    std::string problem;
    bool hasEnded = false;

    void apply(const FollowEvent& event, std::int64_t nowMs);
    /// Active runs, then queued ones, then those that have ended; each newest first.
    std::vector<const LiveRun*> ordered() const;
    /// True if a node that has sent samples sent none for 3.5 s.
    static bool isStale(const LiveNode& node, std::int64_t nowMs);
    /// The machine that a run is on; null before any sample or list names it.
    const LiveNode* nodeOf(const values::RunSummary& run) const;
};

/// Whether its agent is connected, or it is the daemon's own.
bool isThere(const values::NodeInfo& node);
/// A node's state for people, unless it is the usual one: "drained", "lost"; "": attached.
std::string stateText(const values::NodeInfo& node);
/// The mean use of the GPUs that report it.
std::optional<double> gpuPercent(const values::NodeSample& sample);
/// "movielens-dlrm" or "movielens-dlrm / keep-30".
std::string labelOf(const values::RunSummary& run);
/// The same, or the variation alone if that is longer than `most` bytes.
std::string labelOf(const values::RunSummary& run, std::size_t most);

}  // namespace millrace::session
