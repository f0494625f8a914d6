#pragma once
// What a Follower reports, in the order in which it happened.
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "app/session/link.h"
#include "backend/core/status.h"
#include "backend/values/log_line.h"
#include "backend/values/metric_line.h"
#include "backend/values/node.h"
#include "backend/values/run_summary.h"

namespace millrace::session {

struct LinkChanged {
    Link link;
};
struct RunChanged {
    values::RunSummary run;
};
struct RunRemoved {
    values::RunSummary run;
};
/// What a daemon had to tell of its runs when the stream began has been told.
struct SnapshotEnded {};

/// Lines of metrics, each exactly once, across reconnects too.
struct MetricsAdded {
    std::string runId;
    /// Of every key that was told so far.
    std::shared_ptr<const values::MetricNames> names;
    std::vector<values::MetricLine> lines;
    bool isCaughtUp = false;  ///< what the daemon had stored has been told
};
/// A new attempt: what was told of steps after this one is void (0: all of it).
struct MetricsReplaced {
    std::string runId;
    std::int64_t afterStep = 0;
};
struct LogsAdded {
    std::string runId;
    std::vector<values::LogLine> lines;
    std::uint64_t droppedLines = 0;
};
struct NodeSampled {
    values::NodeSample sample;
};
/// All nodes with their facts and states, as they are now.
struct NodesListed {
    std::vector<values::NodeInfo> nodes;
};
/// A run's metrics or its log have ended and all of it has been reported.
struct StreamEnded {
    std::string runId;
    bool isLog = false;
};
/// Something that trying again does not mend.
struct Problem {
    Status status;
    std::string runId;   ///< "": all of it
    bool isLog = false;  ///< the run's log, else its metrics
};
/// Everything that was followed has ended and been reported.
struct AllEnded {};

using FollowEvent =
    std::variant<LinkChanged, RunChanged, RunRemoved, SnapshotEnded, MetricsAdded, MetricsReplaced,
                 LogsAdded, NodeSampled, NodesListed, StreamEnded, Problem, AllEnded>;

}  // namespace millrace::session
