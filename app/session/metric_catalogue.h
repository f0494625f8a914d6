#pragma once
// The metrics that Millrace itself produces: the label of each, its unit, which way is better,
// whether tables omit it, and which live chart shows it.
//
// The command line, the terminal views, the console and docs/reference/metrics.md are all made from
// this one table. A metric without an entry (a user's, a newer daemon's) follows naming
// conventions: "_percent", "_per_second", "_bytes" and the like imply the unit, the last part of
// the name implies which way is better. So a new metric is shown correctly without an entry; an
// entry adds a label and a sentence. Threads: any.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/metric_sense.h"
#include "backend/values/metric_names.h"

namespace millrace::session {

enum class MetricUnit {
    kNone,
    kCount,
    kPerSecond,
    kPercent,
    kBytes,
    kBytesPerSecond,
    kNanoseconds,
    kMilliseconds,
    kSeconds
};

/// The component that reports the metric, or measures it beside the run.
enum class MetricOrigin { kRun, kEvaluation, kWorker, kDaemon, kLoader };

enum class MetricShow {
    kAlways,
    kUnlessZero,  ///< counts faults: 0 means that all is well
    kNever        ///< tables show it elsewhere
};

/// The live chart that shows it; kOwn: a chart of its own, on request.
enum class MetricChart { kOwn, kRate, kLoss, kStall, kCpu, kGpu, kRows };

struct MetricEntry {
    std::string_view name;    ///< "<...>" matches any text; for an evaluation, the first head's
    std::string_view label;   ///< "" : the name
    std::string_view column;  ///< title of a narrow column; "": the name
    MetricUnit unit = MetricUnit::kNone;
    MetricOrigin origin = MetricOrigin::kRun;
    MetricShow show = MetricShow::kAlways;
    MetricChart chart = MetricChart::kOwn;
    std::string_view unitText;  ///< if the unit alone is not clear: "% of one core"
    std::string_view what;      ///< a sentence without a full stop
};

/// All entries, in the order in which figures are shown.
std::span<const MetricEntry> metricCatalogue();
/// Null if Millrace does not produce it. "eval.click.auc" has the entry of "eval.auc".
const MetricEntry* findMetric(std::string_view name);

/// The label for people: "loss", "test AUC", "test click normalised entropy"; other names
/// unchanged.
std::string metricLabel(std::string_view name);
/// The label with its unit, unless the label contains it: "input stall %".
std::string metricTitle(std::string_view name);
/// The title of a narrow column: "AUC", "NE", "click.auc".
std::string metricColumn(std::string_view name);
MetricUnit metricUnit(std::string_view name);
/// Whether tables omit the metric: always, or unless it reports a fault.
bool isInternalMetric(std::string_view name);
/// Whether tables omit this value.
bool isInternalMetric(std::string_view name, const std::optional<double>& value);
/// Sorted: metrics of the catalogue in its order, then the others by name.
std::vector<std::string> inUsualOrder(std::vector<std::string> metrics);
/// The metrics that a live chart shows.
std::vector<std::string> metricsOf(MetricChart chart);
/// The index of the GPU whose use this is; nothing for another metric.
std::optional<int> gpuOfUse(std::string_view name);
/// The tables of docs/reference/metrics.md.
std::string metricTables();

}  // namespace millrace::session
