#include "app/session/metric_catalogue.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "app/session/words.h"
#include "backend/core/status.h"

namespace millrace::session {
namespace {

namespace metric = values::metric;

using Unit = MetricUnit;
using Origin = MetricOrigin;
using Show = MetricShow;
using Chart = MetricChart;

// clang-format off
constexpr MetricEntry kEntries[] = {
    {metric::kLoss, "loss", "LOSS", Unit::kNone, Origin::kRun, Show::kAlways, Chart::kLoss, "",
     "weighted mean loss of the step's rows"},
    {"loss.<head>", "", "", Unit::kNone, Origin::kRun, Show::kAlways, Chart::kOwn, "",
     "weighted mean loss of one head, if there are several"},
    {metric::kEvalAuc, "AUC", "AUC", Unit::kNone, Origin::kEvaluation, Show::kAlways, Chart::kOwn, "",
     "area under the ROC curve"},
    {metric::kEvalNormalizedEntropy, "normalised entropy", "NE", Unit::kNone, Origin::kEvaluation, Show::kAlways, Chart::kOwn, "",
     "log loss divided by the log loss of predicting the mean label: 1 equals that prediction"},
    {"eval.log_loss", "log loss", "LOGLOSS", Unit::kNone, Origin::kEvaluation, Show::kAlways, Chart::kOwn, "",
     "mean log loss, natural logarithm"},
    {"eval.calibration", "calibration", "CALIB", Unit::kNone, Origin::kEvaluation, Show::kAlways, Chart::kOwn, "",
     "mean prediction divided by the mean label: 1 is right"},
    {metric::kEvalRows, "rows with label", "", Unit::kCount, Origin::kEvaluation, Show::kNever, Chart::kOwn, "rows",
     "rows with a label: the other figures are computed on them, and eval.rows_without_label counts the rest"},
    {metric::kEvalPositives, "positive rows", "", Unit::kCount, Origin::kEvaluation, Show::kNever, Chart::kOwn, "rows",
     "rows with a label above 0.5, as AUC counts them: if there are few, AUC depends on few rows"},
    {"eval.rows_without_label", "rows without label", "", Unit::kCount, Origin::kEvaluation, Show::kUnlessZero, Chart::kOwn, "rows",
     "rows that were left out because they have no label"},
    {metric::kSamplesPerSecond, word::kRate.label, word::kRate.heading, Unit::kPerSecond, Origin::kRun, Show::kAlways, Chart::kRate, "rows/s",
     "rows trained per second, over the last 0.5 to 1 s"},
    {metric::kInputStallPercent, word::kStall.label, word::kStall.heading, Unit::kPercent, Origin::kWorker, Show::kAlways, Chart::kStall, "%, 0 to 100",
     "share of the time since the previous point in which the rank waited for data; evaluations and checkpoints are part of that time, the start is not"},
    {metric::kGradientNorm, "gradient norm", "", Unit::kNone, Origin::kRun, Show::kAlways, Chart::kOwn, "",
     "norm over all parameters of the gradient of the step's mean loss, before clipping; reported for some steps each second"},
    {metric::kLearningRate, "learning rate", "", Unit::kNone, Origin::kRun, Show::kAlways, Chart::kOwn, "",
     "the rate after the schedule is applied; reported for some steps each second"},
    {metric::kTableLearningRate, "learning rate, embeddings", "", Unit::kNone, Origin::kRun, Show::kAlways, Chart::kOwn, "",
     "the rate of the embedding tables, if they have their own; reported for some steps each second"},
    {metric::kTableRowsTouched, "rows touched", "", Unit::kCount, Origin::kRun, Show::kAlways, Chart::kOwn, "rows",
     "rows of all embedding tables that the step changed; reported for some steps each second"},
    {"embedding.<table>.used_percent", "", "", Unit::kPercent, Origin::kRun, Show::kAlways, Chart::kOwn, "% of its rows",
     "rows that the steps of this attempt have changed, at checkpoints, for the first 64 tables; for hashed ids also the probability that a value shares its row with another value"},
    {metric::kStepsWithoutWeight, "steps without weight", "", Unit::kCount, Origin::kRun, Show::kUnlessZero, Chart::kOwn, "steps",
     "steps so far whose rows have a total weight of 0: they do not change the model"},
    {metric::kRankStepMs, "step time", "", Unit::kMilliseconds, Origin::kWorker, Show::kAlways, Chart::kOwn, "ms",
     "in a script's rank: time from one batch to the next"},
    {metric::kRankWaitMs, "wait for data", "", Unit::kMilliseconds, Origin::kWorker, Show::kAlways, Chart::kOwn, "ms",
     "in a script's rank: the part of the step time spent waiting for the batch"},
    {metric::kTrainerCpuPercent, "trainer CPU", "", Unit::kPercent, Origin::kWorker, Show::kAlways, Chart::kOwn, "% of one core",
     "the rank's own processor time"},
    {metric::kTrainerInputMs, "input", "", Unit::kMilliseconds, Origin::kWorker, Show::kAlways, Chart::kOwn, "ms",
     "time that a step of the built-in trainer waits for its rows (mean over the last 0.5 to 1 s)"},
    {metric::kTrainerForwardMs, "forward", "", Unit::kMilliseconds, Origin::kWorker, Show::kAlways, Chart::kOwn, "ms",
     "time for look-up, layers and loss (mean over the last 0.5 to 1 s); on a GPU this time and the next ones end when the work is queued, not when it is done"},
    {metric::kTrainerBackwardMs, "backward", "", Unit::kMilliseconds, Origin::kWorker, Show::kAlways, Chart::kOwn, "ms",
     "time for the gradients (mean over the last 0.5 to 1 s)"},
    {metric::kTrainerCommunicationMs, "communication", "", Unit::kMilliseconds, Origin::kWorker, Show::kAlways, Chart::kOwn, "ms",
     "time for sums over ranks, including the wait for the slowest rank (mean over the last 0.5 to 1 s)"},
    {metric::kTrainerOptimizerMs, "optimizer", "", Unit::kMilliseconds, Origin::kWorker, Show::kAlways, Chart::kOwn, "ms",
     "time for the update of the weights (mean over the last 0.5 to 1 s)"},
    {metric::kTrainerCheckpointMs, "checkpoint", "", Unit::kMilliseconds, Origin::kWorker, Show::kAlways, Chart::kOwn, "ms",
     "time that steps waited for a checkpoint, at its step"},
    {metric::kTrainerDeviceMemoryBytes, "GPU memory of the trainer", "", Unit::kBytes, Origin::kWorker, Show::kAlways, Chart::kOwn, "",
     "maximum memory in use on the rank's GPU"},
    {metric::kLoaderRowsReadPerSecond, "rows read/s", "", Unit::kPerSecond, Origin::kWorker, Show::kAlways, Chart::kRows, "rows/s",
     "rows of the dataset that the feed and its data workers read"},
    {metric::kLoaderRowsKeptPerSecond, "rows kept/s", "", Unit::kPerSecond, Origin::kWorker, Show::kAlways, Chart::kRows, "rows/s",
     "rows that left the last step of the recipe"},
    {metric::kLoaderCpuPercent, "loader CPU", "", Unit::kPercent, Origin::kWorker, Show::kAlways, Chart::kOwn, "% of one core",
     "the feed's own processor time"},
    {metric::kLoaderDataWorkers, "data workers", "", Unit::kCount, Origin::kWorker, Show::kUnlessZero, Chart::kOwn, "processes",
     "data workers that are connected; only if the run may have any"},
    {metric::kLoaderDataWorkersWanted, "data workers wanted", "", Unit::kCount, Origin::kWorker, Show::kUnlessZero, Chart::kOwn, "processes",
     "number of data workers that would keep the ranks from waiting, within the spec's bounds; not more while links are the limit"},
    {metric::kLoaderRelayBytesPerSecond, "relayed bytes/s", "", Unit::kBytesPerSecond, Origin::kWorker, Show::kAlways, Chart::kOwn, "",
     "bytes that a relay delivers to the ranks of its node"},
    {metric::kSystemCpuPercent, "", "", Unit::kPercent, Origin::kDaemon, Show::kAlways, Chart::kCpu, "% of all cores, 0 to 100",
     "use of the node's processors"},
    {metric::kSystemMemoryUsedBytes, "", "", Unit::kBytes, Origin::kDaemon, Show::kAlways, Chart::kOwn, "",
     "the node's memory in use"},
    {"system.gpu<i>.utilization_percent", "", "", Unit::kPercent, Origin::kDaemon, Show::kAlways, Chart::kGpu, "%, 0 to 100",
     "use of GPU i"},
    {"system.gpu<i>.memory_used_bytes", "", "", Unit::kBytes, Origin::kDaemon, Show::kAlways, Chart::kOwn, "",
     "GPU i's memory in use"},
    {"system.<worker>.cpu_percent", "", "", Unit::kPercent, Origin::kDaemon, Show::kAlways, Chart::kOwn, "% of one core",
     "processor time of `feed`, or of `rank` (each rank), with child processes"},
    {"system.<worker>.memory_bytes", "", "", Unit::kBytes, Origin::kDaemon, Show::kAlways, Chart::kOwn, "",
     "memory of `feed`, or of `rank` (each rank), with child processes; shared memory counts once (PSS)"},
    {"system.time.<part>_ms", "", "", Unit::kMilliseconds, Origin::kDaemon, Show::kNever, Chart::kOwn, "ms",
     "time of the run so far, over all attempts: `busy`, `stall` (waiting for data), `evaluate`, `checkpoint`, `start`, `ending`; together they are the time since the start; `standing` is the part of it without progress"},
    {"system.loader.step.<step>.busy_percent", "", "", Unit::kPercent, Origin::kLoader, Show::kAlways, Chart::kOwn, "% of one core",
     "time at work in a step of the recipe, without reading; `where` is dataset.where, `(labels)` the heads"},
    {"system.loader.column.<column>.ns_per_row", "", "", Unit::kNanoseconds, Origin::kLoader, Show::kAlways, Chart::kOwn, "",
     "time to read, encode and copy a column, per row read, since the start; reported every 30 s and at the end, for the 256 most expensive columns"},
    {"system.loader.column.<column>.wait_ns_per_row", "", "", Unit::kNanoseconds, Origin::kLoader, Show::kAlways, Chart::kOwn, "",
     "time spent waiting while the column was read, per row read; reported likewise"},
    {"system.loader.column.<column>.disk_bytes_per_row", "", "", Unit::kBytes, Origin::kLoader, Show::kAlways, Chart::kOwn, "",
     "bytes of the column in its file, per row read; reported likewise"},
    {"system.loader.mixing.requests", "", "", Unit::kCount, Origin::kLoader, Show::kAlways, Chart::kOwn, "requests",
     "with `features.request`: number of different requests in a full micro-batch, mean since the previous report"},
    {"system.loader.mixing.fewest_requests", "", "", Unit::kCount, Origin::kLoader, Show::kAlways, Chart::kOwn, "requests",
     "with `features.request`: the smallest number since the start"},
    {"system.loader.mixing.largest_user_percent", "", "", Unit::kPercent, Origin::kLoader, Show::kAlways, Chart::kOwn, "% of its rows",
     "with `features.user`: share of the largest user in a full micro-batch, mean since the previous report"},
    {"system.loader.mixing.worst_user_percent", "", "", Unit::kPercent, Origin::kLoader, Show::kAlways, Chart::kOwn, "% of its rows",
     "with `features.user`: the largest share since the start"},
    {"system.loader.<stage>.busy_percent", "", "", Unit::kPercent, Origin::kLoader, Show::kAlways, Chart::kOwn, "% of one core",
     "time at work in the feed's stages `read`, `recipe`, `order`, `collate`, `sink`, all threads together"},
    {"system.loader.<stage>.starved_percent", "", "", Unit::kPercent, Origin::kLoader, Show::kAlways, Chart::kOwn, "% of one core",
     "time waiting for the previous stage: `read` for the file, `collate` for a segment; any stage for a free core"},
    {"system.loader.<stage>.blocked_percent", "", "", Unit::kPercent, Origin::kLoader, Show::kAlways, Chart::kOwn, "% of one core",
     "time waiting for the next stage: `read` for room for one more segment, `collate` for a place in the ring"},
    {"system.loader.<stage>.rows_per_second", "", "", Unit::kPerSecond, Origin::kLoader, Show::kAlways, Chart::kOwn, "rows/s",
     "rows that the stage took in"},
    {"system.loader.<stage>.bytes_per_second", "", "", Unit::kBytesPerSecond, Origin::kLoader, Show::kAlways, Chart::kOwn, "",
     "bytes that the stage took in: for `read` bytes of the files, for `collate` and `sink` bytes of frames"},
    {"system.loader.<stage>.ns_per_row", "", "", Unit::kNanoseconds, Origin::kLoader, Show::kAlways, Chart::kOwn, "",
     "busy time per row; absent without rows"},
};

// Name endings that imply a unit. An ending must precede any shorter ending of itself.
constexpr std::pair<std::string_view, Unit> kEndings[] = {
    {"_bytes_per_second", Unit::kBytesPerSecond}, {".bytes_per_second", Unit::kBytesPerSecond},
    {"_per_second", Unit::kPerSecond},            {"_percent", Unit::kPercent},
    {"_bytes", Unit::kBytes},                     {"_bytes_per_row", Unit::kBytes},
    {"_ns", Unit::kNanoseconds},                  {"ns_per_row", Unit::kNanoseconds},
    {"_ms", Unit::kMilliseconds},                 {"_seconds", Unit::kSeconds},
};
// clang-format on

// One "<...>" of the pattern matches any text that is not empty.
bool matches(std::string_view pattern, std::string_view name) {
    const std::size_t open = pattern.find('<');
    if (open == std::string_view::npos) {
        return pattern == name;
    }
    const std::string_view before = pattern.substr(0, open);
    const std::string_view after = pattern.substr(pattern.find('>') + 1);
    return name.size() > before.size() + after.size() && name.starts_with(before) &&
           name.ends_with(after);
}

std::string_view lastPart(std::string_view name) {
    return name.substr(name.find_last_of("./") + 1);  // npos + 1 is 0
}

// "click" of "eval.click.auc"; "" for the alias of the first head.
std::string_view headOf(std::string_view name) {
    const std::size_t from = std::string_view(metric::kEvalPrefix).size();
    const std::size_t dot = name.rfind('.');
    return values::isEvalMetric(name) && dot > from ? name.substr(from, dot - from)
                                                    : std::string_view();
}

// The place of an evaluation's figure that has no entry: after those with one, before the
// evaluation's counts.
std::ptrdiff_t usualPlace(std::string_view name) {
    const MetricEntry* entry = findMetric(name);
    if (entry == nullptr && values::isEvalMetric(name)) {
        entry = findMetric(metric::kEvalRows);
    }
    return entry == nullptr ? std::ssize(kEntries) : entry - std::begin(kEntries);
}

std::string_view unitWord(const MetricEntry& entry) {
    if (!entry.unitText.empty()) {
        return entry.unitText;
    }
    switch (entry.unit) {
        case Unit::kNone:
        case Unit::kCount:
            break;
        case Unit::kPerSecond:
            return "/s";
        case Unit::kPercent:
            return "%";
        case Unit::kBytes:
            return "bytes";
        case Unit::kBytesPerSecond:
            return "bytes/s";
        case Unit::kNanoseconds:
            return "ns";
        case Unit::kMilliseconds:
            return "ms";
        case Unit::kSeconds:
            return "s";
    }
    return "";
}

std::string_view senseWord(values::MetricSense sense) {
    switch (sense) {
        case values::MetricSense::kUnknown:
            break;
        case values::MetricSense::kLowerIsBetter:
            return "lower";
        case values::MetricSense::kHigherIsBetter:
            return "higher";
    }
    return "";
}

std::string_view showWord(MetricShow show) {
    switch (show) {
        case Show::kAlways:
            break;
        case Show::kUnlessZero:
            return "; left out of tables while it is 0";
        case Show::kNever:
            return "; left out of tables";
    }
    return "";
}

void addTable(std::string* page, std::string_view title, Origin origin) {
    strAppend(page, "## ", title,
              "\n\n| name | label | unit | better | what |\n|---|---|---|---|---|\n");
    for (const MetricEntry& entry : kEntries) {
        if (entry.origin == origin) {
            strAppend(page, "| `", entry.name, "` | ",
                      entry.label.empty() ? std::string() : metricLabel(entry.name), " | ",
                      unitWord(entry), " | ", senseWord(values::senseOf(entry.name)), " | ",
                      entry.what, showWord(entry.show), " |\n");
        }
    }
    *page += "\n";
}

}  // namespace

std::span<const MetricEntry> metricCatalogue() {
    return kEntries;
}

const MetricEntry* findMetric(std::string_view name) {
    const std::string_view head = headOf(name);
    const std::string twin = head.empty() ? std::string(name) : withoutHead(name);
    const auto found = std::find_if(std::begin(kEntries), std::end(kEntries),
                                    [&](const auto& one) { return matches(one.name, twin); });
    return found == std::end(kEntries) ? nullptr : found;
}

std::string metricLabel(std::string_view name) {
    const MetricEntry* entry = findMetric(name);
    const bool hasLabel = entry != nullptr && !entry->label.empty();
    if (!values::isEvalMetric(name)) {
        return std::string(hasLabel ? entry->label : name);
    }
    const std::string_view head = headOf(name);
    return strCat("test ", head, head.empty() ? "" : " ", hasLabel ? entry->label : lastPart(name));
}

std::string metricTitle(std::string_view name) {
    const MetricEntry* entry = findMetric(name);
    const bool isPercent =
        entry != nullptr && !entry->label.empty() && entry->unit == Unit::kPercent;
    return metricLabel(name) + (isPercent ? " %" : "");
}

std::string metricColumn(std::string_view name) {
    const MetricEntry* entry = findMetric(name);
    if (entry != nullptr && entry->name == name && !entry->column.empty()) {
        return std::string(entry->column);
    }
    return std::string(values::isEvalMetric(name)
                           ? name.substr(std::string_view(metric::kEvalPrefix).size())
                           : name);
}

MetricUnit metricUnit(std::string_view name) {
    if (const MetricEntry* entry = findMetric(name)) {
        return entry->unit;
    }
    for (const auto& [ending, unit] : kEndings) {
        if (name.ends_with(ending)) {
            return unit;
        }
    }
    return Unit::kNone;
}

bool isInternalMetric(std::string_view name) {
    const MetricEntry* entry = findMetric(name);
    return entry != nullptr && entry->show != Show::kAlways;
}

bool isInternalMetric(std::string_view name, const std::optional<double>& value) {
    const MetricEntry* entry = findMetric(name);
    return entry != nullptr && (entry->show == Show::kNever ||
                                (entry->show == Show::kUnlessZero && value.value_or(0) == 0));
}

std::vector<std::string> inUsualOrder(std::vector<std::string> metrics) {
    std::vector<std::pair<std::ptrdiff_t, std::string>> placed;
    placed.reserve(metrics.size());
    for (std::string& name : metrics) {
        const std::ptrdiff_t place = usualPlace(name);
        placed.emplace_back(place, std::move(name));
    }
    std::sort(placed.begin(), placed.end());
    std::transform(placed.begin(), placed.end(), metrics.begin(),
                   [](auto& one) { return std::move(one.second); });
    return metrics;
}

std::vector<std::string> metricsOf(MetricChart chart) {
    std::vector<std::string> names;
    for (const MetricEntry& entry : kEntries) {
        if (entry.chart == chart) {
            names.emplace_back(entry.name);
        }
    }
    return names;
}

std::optional<int> gpuOfUse(std::string_view name) {
    constexpr std::string_view kPrefix = metric::kGpuPrefix;
    if (!name.starts_with(kPrefix)) {
        return std::nullopt;
    }
    int gpu = 0;
    const char* const end = name.data() + name.size();
    const auto [rest, error] = std::from_chars(name.data() + kPrefix.size(), end, gpu);
    const bool isUse = error == std::errc() && gpu >= 0 &&
                       name == metric::ofGpu(gpu, metric::kGpuUtilizationPercent);
    return isUse && rest != end ? std::optional(gpu) : std::nullopt;
}

std::string metricTables() {
    std::string page;
    addTable(&page, "Metrics of a run", Origin::kRun);
    addTable(&page, "Metrics of an evaluation", Origin::kEvaluation);
    addTable(&page, "What a rank and the feed measure of themselves", Origin::kWorker);
    addTable(&page, "What the daemon measures beside a run", Origin::kDaemon);
    addTable(&page, "What the feed measures of its stages", Origin::kLoader);
    return page;
}

}  // namespace millrace::session
