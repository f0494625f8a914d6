#pragma once
// What is known of a metric by its name, from session's catalogue; here for models and pages.
//
// Threads: any.
#include <QString>
#include <string>

#include "app/session/metric_catalogue.h"
#include "app/session/rate_age.h"

namespace millrace::gui {

namespace metric = session::metric;
using session::eachOnce;
using session::gpuOfUse;
using session::inUsualOrder;
using session::isEvalMetric;
using session::isInternalMetric;
using session::isTrainMetric;
using session::MetricChart;
using session::MetricSense;
using session::metricsOf;
using session::metricUnit;
using session::RateAge;
using session::senseOf;
using session::shownValue;
using session::withoutHead;

/// "test AUC", "loss", "samples/s", "input stall %"; others as they are.
inline QString metricTitle(const std::string& name) {
    return QString::fromStdString(session::metricTitle(name));
}

}  // namespace millrace::gui
