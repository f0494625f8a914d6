#pragma once
// The metrics that Millrace makes itself: how people call each, its unit, which way is better,
// whether tables leave it out, and which live chart shows it.
//
// One table, from which the command line, the terminal views, the console and the tables of
// docs/reference/metrics.md are made. A metric that stands in no entry (of a user, of a newer
// daemon) is shown by the conventions of names: "_percent", "_per_second", "_bytes" and the like
// tell the unit, the last part of the name which way is better. So a new metric of a rank is shown
// rightly without an entry; an entry gives it a label and a sentence. Threads: any.
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

/// Who reports it, or measures it beside the run.
enum class MetricOrigin { kRun, kEvaluation, kWorker, kDaemon, kLoader };

enum class MetricShow {
    kAlways,
    kUnlessZero,  ///< a fault that is counted: 0 says that all is well
    kNever        ///< a figure that tables show elsewhere
};

/// The live chart that shows it; kOwn: one of its own, when somebody asks for it.
enum class MetricChart { kOwn, kRate, kLoss, kStall, kCpu, kGpu, kRows };

struct MetricEntry {
    std::string_view name;    ///< "<...>" stands for any text; of an evaluation the first head's
    std::string_view label;   ///< "" : the name
    std::string_view column;  ///< title of a narrow column; "": the name
    MetricUnit unit = MetricUnit::kNone;
    MetricOrigin origin = MetricOrigin::kRun;
    MetricShow show = MetricShow::kAlways;
    MetricChart chart = MetricChart::kOwn;
    std::string_view unitText;  ///< where the unit alone says too little: "% of one core"
    std::string_view what;      ///< a sentence without an end
};

/// In the order in which figures are shown.
std::span<const MetricEntry> metricCatalogue();
/// Null for a metric that Millrace does not make. "eval.click.auc" has the entry of "eval.auc".
const MetricEntry* findMetric(std::string_view name);

/// How people call it: "loss", "test AUC", "test click normalised entropy"; others as they are.
std::string metricLabel(std::string_view name);
/// The same with its unit where the label does not have it: "input stall %".
std::string metricTitle(std::string_view name);
/// The title of a narrow column: "AUC", "NE", "click.auc".
std::string metricColumn(std::string_view name);
MetricUnit metricUnit(std::string_view name);
/// Those that tables leave out, whatever they are or unless they tell of a fault.
bool isInternalMetric(std::string_view name);
/// Whether tables leave this value out.
bool isInternalMetric(std::string_view name, const std::optional<double>& value);
/// As the catalogue stands, then the others by name.
std::vector<std::string> inUsualOrder(std::vector<std::string> metrics);
/// The metrics that a live chart shows.
std::vector<std::string> metricsOf(MetricChart chart);
/// The number of the GPU whose use this is; nothing for another metric.
std::optional<int> gpuOfUse(std::string_view name);
/// The tables of docs/reference/metrics.md.
std::string metricTables();

}  // namespace millrace::session
