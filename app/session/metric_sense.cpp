#include "app/session/metric_sense.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace millrace::session {
namespace {

constexpr std::array<std::string_view, 9> kLowerIsBetter = {
    "loss",  "normalized_entropy",  "log_loss",  "mse", "rmse", "mae",
    "error", "input_stall_percent", "perplexity"};
constexpr std::array<std::string_view, 9> kHigherIsBetter = {
    "auc", "accuracy", "precision", "recall", "f1", "ndcg", "map", "samples_per_second", "pr_auc"};

std::string_view lastPart(std::string_view metric) {
    const std::size_t at = metric.find_last_of("./");
    return at == std::string_view::npos ? metric : metric.substr(at + 1);
}

}  // namespace

MetricSense senseOf(std::string_view metric) {
    const std::string_view part = lastPart(metric);
    const auto isIn = [&](const auto& names) {
        return std::find(names.begin(), names.end(), part) != names.end();
    };
    return isIn(kLowerIsBetter)    ? MetricSense::kLowerIsBetter
           : isIn(kHigherIsBetter) ? MetricSense::kHigherIsBetter
                                   : MetricSense::kUnknown;
}

bool isEvalMetric(std::string_view metric) {
    return metric.starts_with("eval.");
}

bool isTrainMetric(std::string_view metric) {
    return !isEvalMetric(metric) && senseOf(metric) != MetricSense::kUnknown &&
           metric != "samples_per_second" && metric != "input_stall_percent";
}

BestAndLast bestAndLast(const client::MetricSeries& series) {
    BestAndLast found;
    const MetricSense sense = senseOf(series.name);
    for (std::size_t i = 0; i < series.values.size() && i < series.steps.size(); ++i) {
        const StepValue one{series.values[i], series.steps[i]};
        found.last = one;
        const bool isBetter =
            !found.best || (sense == MetricSense::kHigherIsBetter ? one.value > found.best->value
                                                                  : one.value < found.best->value);
        if (sense != MetricSense::kUnknown && !std::isnan(one.value) && isBetter) {
            found.best = one;
        }
    }
    return found;
}

}  // namespace millrace::session
