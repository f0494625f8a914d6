#pragma once
// What is known of a metric by its name, and the best and the last of a series.
//
// Threads: any.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/values/metric_line.h"
#include "backend/values/metric_sense.h"
#include "backend/values/run_summary.h"

namespace millrace::session {

/// Depends on which rows were trained: only runs of the same stream compare.
bool isTrainMetric(std::string_view metric);

/// The name of the first head's twin: "eval.auc" for "eval.click.auc"; "" for what has no head.
std::string withoutHead(std::string_view metric);
/// Each figure of one run's evaluation once: of a run with one head its own names ("eval.auc"), of
/// one with several those of the heads. The order stays.
std::vector<std::string> eachOnce(std::vector<std::string> metrics);

/// The newest value of a metric; the mean of the samples/s of a run that has ended; the input stall
/// of the whole run.
std::optional<double> shownValue(const values::RunSummary& run, const std::string& metric);

/// A value and the step it stands at.
struct StepValue {
    double value = 0;
    std::int64_t step = 0;
    bool operator==(const StepValue&) const = default;
};
struct BestAndLast {
    std::optional<StepValue> best;  ///< none where it is not known which way is better
    std::optional<StepValue> last;
};
/// A thinned series keeps its extremes and its last point, so it is as good as the whole. The first
/// of equals; NaN is never the best.
BestAndLast bestAndLast(const values::MetricSeries& series);

}  // namespace millrace::session
