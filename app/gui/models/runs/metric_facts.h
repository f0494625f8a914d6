#pragma once
// What is known of a metric by its name, from session's catalogue; here for models and pages.
//
// Threads: any.
#include <QString>
#include <string>

#include "app/session/metric_catalogue.h"
#include "app/session/rate_age.h"
#include "app/session/run_progress.h"

namespace millrace::gui {

namespace metric = values::metric;

/// "test AUC", "loss", "samples/s", "input stall %"; others as they are.
inline QString metricTitle(const std::string& name) {
    return QString::fromStdString(session::metricTitle(name));
}

}  // namespace millrace::gui
