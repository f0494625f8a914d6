#pragma once
// The events that a Follower reports, in the order in which they happened.
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
/// The daemon has sent its snapshot of the runs, which opens the stream.
struct SnapshotEnded {};

/// Lines of metrics, each exactly once, even across reconnects.
struct MetricsAdded {
    std::string runId;
    /// The names of all keys that were reported so far.
    std::shared_ptr<const values::MetricNames> names;
    std::vector<values::MetricLine> lines;
    bool isCaughtUp = false;  ///< all metrics that the daemon had stored were sent
};
/// A new attempt: discard everything after this step (0: everything).
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
/// A failure that a retry does not fix.
struct Problem {
    Status status;
    std::string runId;   ///< "": everything that is followed
    bool isLog = false;  ///< the run's log, else its metrics
};
/// Everything that was followed has ended and been reported.
struct AllEnded {};

using FollowEvent =
    std::variant<LinkChanged, RunChanged, RunRemoved, SnapshotEnded, MetricsAdded, MetricsReplaced,
                 LogsAdded, NodeSampled, NodesListed, StreamEnded, Problem, AllEnded>;

}  // namespace millrace::session
