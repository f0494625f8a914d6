#pragma once
// The batches that the bridge delivers to the GUI thread; each holds only the newest value of an
// object.
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

/// Changes of the list of runs. Apply in this order: reset, changed, removed.
struct RunsDelta {
    bool isReset = false;  ///< discard everything known before
    /// New or changed, each once. `params` may be empty for a known run: they have not changed.
    std::vector<values::RunSummary> changed;
    std::vector<std::string> removed;  ///< deleted: ids
    bool isComplete = false;           ///< every run of the store has been delivered
};

/// Lines of a run's metrics. First drop, then append; no line is missing or repeated.
struct MetricsDelta {
    std::optional<std::int64_t> dropAfterStep;  ///< a new attempt: discard all later steps
    std::vector<values::MetricLine> lines;
    std::shared_ptr<const values::MetricNames> names;  ///< of the keys of all lines; null: no lines
    bool isComplete = false;  ///< the data stored at the beginning has been delivered
    bool hasEnded = false;    ///< the run has ended and all of it has been delivered
};

/// By run: the position up to which its metrics are known.
using MetricCursors = std::map<std::string, values::MetricCursor>;

struct LogsDelta {
    std::vector<values::LogLine> lines;
    std::uint64_t droppedLines =
        0;  ///< left out by the daemon's bounded log or by the bridge itself
    bool hasEnded = false;
};

}  // namespace millrace::gui
