#pragma once
// Derives from a metric's name which way is better, and finds the best and the last point of a
// series. Used by tables and comparisons.
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

/// The alias of a head's metric: "eval.auc" for "eval.click.auc"; "" for a metric without a head.
std::string withoutHead(std::string_view metric);
/// Each figure of one run's evaluation once. A run with one head keeps the plain names
/// ("eval.auc"); a run with several heads keeps the heads' names. The order stays.
std::vector<std::string> eachOnce(std::vector<std::string> metrics);

/// The newest value of a metric, with two exceptions: samples/s of a run that has ended is its
/// mean, and the input stall is that of the whole run.
std::optional<double> shownValue(const values::RunSummary& run, const std::string& metric);

/// Whether `metric` is an AUC over fewer than 20 positives, or negatives, which luck decides. False
/// if their number was not reported.
bool isOfFewRows(const values::RunSummary& run, const std::string& metric);
/// Follows such a value; kFewNote explains it below the table.
inline constexpr char kFewMark[] = " few";
inline constexpr char kFewNote[] =
    "few: an AUC over fewer than 20 positives or negatives says little.";

/// A value and its step.
struct StepValue {
    double value = 0;
    std::int64_t step = 0;
    bool operator==(const StepValue&) const = default;
};
struct BestAndLast {
    std::optional<StepValue> best;  ///< nothing if it is unknown which way is better
    std::optional<StepValue> last;
};
/// A thinned series keeps its extremes and its last point, so the result equals that of the whole
/// series. The first of equal values wins; NaN is never the best.
BestAndLast bestAndLast(const values::MetricSeries& series);

}  // namespace millrace::session
