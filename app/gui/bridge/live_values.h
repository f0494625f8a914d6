#pragma once
// What the bridge delivers to the GUI thread: batches in which the newest value of a thing wins.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/values/log_line.h"
#include "backend/values/metric_line.h"
#include "backend/values/run_summary.h"

namespace millrace::gui {

/// Changes of the list of runs. To be applied in this order: reset, changed, removed.
struct RunsDelta {
    bool isReset = false;  ///< what was known before is void
    /// New or changed, each once. `params` may be empty where the run is known: they are as before.
    std::vector<values::RunSummary> changed;
    std::vector<std::string> removed;  ///< deleted: ids
    bool isComplete = false;           ///< every run of the store has been delivered
};

/// Lines of a run's metrics. First drop, then append; never a hole, never a line twice.
struct MetricsDelta {
    std::optional<std::int64_t> dropAfterStep;  ///< a new attempt: what is of later steps is void
    std::vector<values::MetricLine> lines;
    std::shared_ptr<const values::MetricNames> names;  ///< of the keys of all lines; null: no lines
    bool isComplete = false;  ///< what the store had at the beginning has been delivered
    bool hasEnded = false;    ///< the run has ended and all of it has been delivered
};

/// By run: where its metrics are known up to.
using MetricCursors = std::map<std::string, values::MetricCursor>;

struct LogsDelta {
    std::vector<values::LogLine> lines;
    std::uint64_t droppedLines =
        0;  ///< that the daemon's bounded log or the bridge had to leave out
    bool hasEnded = false;
};

}  // namespace millrace::gui
