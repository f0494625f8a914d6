#include "app/session/metric_sense.h"

#include <limits>
#include <set>

#include "backend/core/status.h"
#include "backend/values/metric_names.h"

namespace millrace::session {

bool isTrainMetric(std::string_view metric) {
    return !values::isEvalMetric(metric) &&
           values::senseOf(metric) != values::MetricSense::kUnknown &&
           metric != values::metric::kSamplesPerSecond &&
           metric != values::metric::kInputStallPercent;
}

std::string withoutHead(std::string_view metric) {
    constexpr std::string_view kEval = values::metric::kEvalPrefix;
    const std::size_t dot = metric.rfind('.');
    const bool hasHead = values::isEvalMetric(metric) && dot >= kEval.size();
    return hasHead ? strCat(kEval, metric.substr(dot + 1)) : std::string();
}

std::vector<std::string> eachOnce(std::vector<std::string> metrics) {
    const std::set<std::string> all(metrics.begin(), metrics.end());
    std::set<std::string> heads, twins;
    for (const std::string& metric : metrics) {
        const std::string twin = withoutHead(metric);
        if (!twin.empty()) {
            heads.insert(metric.substr(0, metric.rfind('.')));
            twins.insert(twin);
        }
    }
    std::erase_if(metrics, [&](const std::string& metric) {
        return heads.size() > 1 ? twins.contains(metric) : all.contains(withoutHead(metric));
    });
    return metrics;
}

std::optional<double> shownValue(const values::RunSummary& run, const std::string& metric) {
    return metric == values::metric::kSamplesPerSecond    ? run.rate()
           : metric == values::metric::kInputStallPercent ? run.stallPercent()
                                                          : run.metric(metric);
}

bool isOfFewRows(const values::RunSummary& run, const std::string& metric) {
    constexpr double kFew = 20;
    namespace key = values::metric;
    const std::string head = metric.substr(0, metric.rfind('.') + 1);
    if (!values::isEvalMetric(metric) || metric != head + key::kAuc) {
        return false;
    }
    const auto positives = run.metric(head + key::kPositives), rows = run.metric(head + key::kRows);
    return positives && (*positives < kFew || (rows && *rows - *positives < kFew));
}

BestAndLast bestAndLast(const values::MetricSeries& series) {
    BestAndLast found;
    const values::MetricSense sense = values::senseOf(series.key);
    for (const values::MetricPoint& point : series.points) {
        const StepValue one{point.value, point.step};
        found.last = one;
        const double before =
            found.best ? found.best->value : std::numeric_limits<double>::quiet_NaN();
        if (sense != values::MetricSense::kUnknown && values::isBetter(sense, one.value, before)) {
            found.best = one;
        }
    }
    return found;
}

}  // namespace millrace::session
