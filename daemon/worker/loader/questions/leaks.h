#pragma once
// Finds features that reveal the label by themselves: mostly ones that are known only after it.
#include <chrono>
#include <cstdint>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"

namespace millrace::loader {

/// Limits of the search; the first one reached ends it.
struct LeakLimits {
    std::int64_t rows = 50'000;         ///< with a label
    std::int64_t rowsRead = 2'000'000;  ///< filters may leave few of them
    std::chrono::milliseconds time{20'000};
};

struct LeakReport {
    std::vector<std::string> notes;
    std::map<std::string, std::string> remarks;  ///< by feature: the same for a comment beside it
    std::int64_t rowsRead = 0;
    /// Highest AUC with which an id of many values orders rows by the mean labels of other rows;
    /// 0.5 if there is none.
    double idAuc = 0.5;
};

/// Returns the rule of findLeaks(), for users.
std::string leakRule();

/// Returns a sentence for each dense feature that orders the rows of the first splits by their
/// label (AUC above 0.98, or below 0.02). It does the same for each id if the mean labels in one
/// half of these rows order those of the other. Uses the first head. Adds a sentence if too few
/// rows were found within the limits. Failure: data errors; kCancelled on `stop`.
Result<LeakReport> findLeaks(const spec::RunSpec& spec, const stream::Plan& plan,
                             const std::stop_token& stop, const LeakLimits& limits = {});

}  // namespace millrace::loader
