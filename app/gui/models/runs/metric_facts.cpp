#include "app/gui/models/runs/metric_facts.h"

#include <algorithm>
#include <utility>

namespace millrace::gui {
namespace {

constexpr std::pair<std::string_view, std::string_view> kTitles[] = {
    {"auc", "AUC"},
    {"normalized_entropy", "normalised entropy"},
    {"log_loss", "log loss"},
    {"rows_without_label", "rows without label"},
    {"samples_per_second", "samples/s"},
    {"input_stall_percent", "input stall %"},
    {"loader.rows_read_per_second", "rows read/s"},
    {"loader.rows_kept_per_second", "rows kept/s"},
    {"loader.cpu_percent", "loader CPU %"},
    {"trainer.cpu_percent", "trainer CPU %"},
};

std::string_view lastPart(std::string_view metric) {
    const std::size_t at = metric.find_last_of("./");
    return at == std::string_view::npos ? metric : metric.substr(at + 1);
}

int usualPlace(const std::string& metric) {
    if (metric == "loss") {
        return 0;
    }
    if (isEvalMetric(metric)) {
        return senseOf(metric) != MetricSense::kUnknown ? 1 : 2;
    }
    return metric == "samples_per_second" ? 3 : metric == "input_stall_percent" ? 4 : 5;
}

}  // namespace

QString metricTitle(const std::string& metric) {
    const bool isEval = isEvalMetric(metric);
    const std::size_t dot = isEval ? metric.rfind('.') : std::string::npos;
    std::string title = isEval ? metric.substr(dot + 1) : metric;
    for (const auto& [name, text] : kTitles) {
        title = title == name ? std::string(text) : title;
    }
    const std::string head = isEval && dot > 5 ? metric.substr(5, dot - 5) + " " : "";
    return QString::fromStdString(isEval ? "test " + head + title : title);
}

std::vector<std::string> inUsualOrder(std::vector<std::string> metrics) {
    std::sort(metrics.begin(), metrics.end(), [](const std::string& a, const std::string& b) {
        return std::pair(usualPlace(a), std::string_view(a)) <
               std::pair(usualPlace(b), std::string_view(b));
    });
    return metrics;
}

std::optional<double> shownValue(const client::RunSummary& run, const std::string& metric) {
    return metric == "samples_per_second" ? run.rate() : run.metric(metric);
}

bool isInternalMetric(std::string_view metric) {
    const std::string_view part = lastPart(metric);
    return (isEvalMetric(metric) && part == "rows") || part == "rows_without_label" ||
           metric == "steps_without_weight";
}

}  // namespace millrace::gui
