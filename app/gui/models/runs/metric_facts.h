#pragma once
// Metric titles from session's catalogue as QString, for models and pages.
//
// Threads: any.
#include <QString>
#include <string>

#include "app/session/metric_catalogue.h"
#include "app/session/rate_age.h"
#include "app/session/run_progress.h"

namespace millrace::gui {

namespace metric = values::metric;

/// "test AUC", "loss", "samples/s", "input stall %"; other names unchanged.
inline QString metricTitle(const std::string& name) {
    return QString::fromStdString(session::metricTitle(name));
}

}  // namespace millrace::gui
