#pragma once
// What is known of a metric by its name: how people call it, and which way is better.
//
// Threads: any.
#include <QString>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "app/session/metric_sense.h"
#include "app/session/rate_age.h"

namespace millrace::gui {

using session::eachOnce;
using session::isEvalMetric;
using session::isTrainMetric;
using session::MetricSense;
using session::RateAge;
using session::senseOf;
using session::withoutHead;

/// "test AUC", "loss", "samples/s"; others as they are.
QString metricTitle(const std::string& metric);
/// Of two or more: loss, test figures, speed, then the others by name.
std::vector<std::string> inUsualOrder(std::vector<std::string> metrics);
/// The newest value of a metric; the mean of the samples/s of a run that has ended.
std::optional<double> shownValue(const client::RunSummary& run, const std::string& metric);
/// Text that only the daemon and its tools need (measurements of the measuring).
bool isInternalMetric(std::string_view metric);

}  // namespace millrace::gui
