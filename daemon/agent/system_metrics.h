#pragma once
// The metrics that the daemon measures beside a run and stores with it: "system.cpu_percent" and
// the others of docs/reference/metrics.md. Used by RunController.
//
// Threads: a SystemRecorder has one owner; a SystemSource is called from any. Cheap: at most one
// line per run in two seconds, and nothing is sampled while no run is active. Failure: a value that
// cannot be measured is absent, never zero.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/runs/run_lines.h"
#include "backend/values/metric_line.h"
#include "backend/values/node.h"

namespace millrace::agent {

struct NodeReport {
    std::uint64_t number = 0;  ///< grows with every sample; 0: none yet
    values::NodeSample sample;
};

/// Samples of this node.
class SystemSource {
 public:
    virtual ~SystemSource() = default;
    /// While the returned object exists, a sample is taken at least every two seconds.
    virtual std::shared_ptr<void> record() = 0;
    virtual NodeReport latest() const = 0;
};

/// The values in `report` about the node and a run's workers on it, by name. "system.rank.*" is for
/// ranks, summarized over several.
struct SystemValues {
    std::vector<std::pair<std::string, double>> values;
    std::vector<std::pair<std::string, values::RankSummary>> summaries;
};
SystemValues systemValues(const NodeReport& report, const std::string& runId);

/// The same as a line to be stored at `position`; no line if nothing was measured.
std::vector<runs::ReportedLine> systemLines(const NodeReport& report, const std::string& runId,
                                            const runs::ReportedLine& position);

/// Decides when there is something to store.
class SystemRecorder {
 public:
    /// Null: nothing is ever stored.
    explicit SystemRecorder(SystemSource* source) : source_(source) {}

    /// Returns a report that has not been stored, at most one in two seconds. `isActive`: there are
    /// active runs; without them nothing is sampled.
    std::optional<NodeReport> due(bool isActive, std::int64_t steadyNs);

 private:
    SystemSource* source_;
    std::shared_ptr<void> recording_;
    std::uint64_t stored_ = 0;
    std::int64_t nextNs_ = 0;
};

}  // namespace millrace::agent
