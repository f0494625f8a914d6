#pragma once
// Tells from a metric's name its source, and which of two values is better.
//
// Threads: any. Failure: none.
#include <algorithm>
#include <iterator>
#include <string_view>

namespace millrace::values {

/// Measured by the daemon alongside a run ("system.cpu_percent"), not reported by the run.
constexpr bool isSystemMetric(std::string_view name) {
    return name.starts_with("system.");
}

/// The better direction of a metric, as far as its name tells.
enum class MetricSense { kUnknown, kLowerIsBetter, kHigherIsBetter };

/// Decided by the last part of the name: loss, normalized_entropy, log_loss, ... or auc, ...
constexpr MetricSense senseOf(std::string_view metric) {
    constexpr std::string_view kLower[] = {
        "loss",  "normalized_entropy",  "log_loss",  "mse", "rmse", "mae",
        "error", "input_stall_percent", "perplexity"};
    constexpr std::string_view kHigher[] = {"auc",   "accuracy", "precision", "recall",
                                            "f1",    "ndcg",     "map",       "samples_per_second",
                                            "pr_auc"};
    const std::size_t dot = metric.find_last_of("./");
    const std::string_view part = dot == std::string_view::npos ? metric : metric.substr(dot + 1);
    if (std::find(std::begin(kLower), std::end(kLower), part) != std::end(kLower)) {
        return MetricSense::kLowerIsBetter;
    }
    const bool isHigher =
        std::find(std::begin(kHigher), std::end(kHigher), part) != std::end(kHigher);
    return isHigher ? MetricSense::kHigherIsBetter : MetricSense::kUnknown;
}

/// Measured on the evaluation rows.
constexpr bool isEvalMetric(std::string_view name) {
    return name.starts_with("eval.");
}

/// Whether the store keeps the metric's best value (RunSummary::bestMetrics).
constexpr bool isBestKept(std::string_view name) {
    return isEvalMetric(name) && senseOf(name) != MetricSense::kUnknown;
}

/// NaN is never better; any number is better than NaN.
constexpr bool isBetter(MetricSense sense, double value, double than) {
    return value == value &&
           (than != than || (sense == MetricSense::kHigherIsBetter ? value > than : value < than));
}

}  // namespace millrace::values
