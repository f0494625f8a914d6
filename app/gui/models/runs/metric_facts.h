#pragma once
// What is known of a metric by its name: how people call it, and which way is better.
//
// Threads: any.
#include <QString>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::gui {

enum class MetricSense { kUnknown, kLowerIsBetter, kHigherIsBetter };

/// By the last part of the name: loss, normalized_entropy, log_loss, ... or auc, ...; of others
/// nothing is known.
MetricSense senseOf(std::string_view metric);
/// Measured on the evaluation rows: only runs with the same rows compare.
bool isEvalMetric(std::string_view metric);
/// Depends on which rows were trained: only runs of the same stream compare.
bool isTrainMetric(std::string_view metric);
/// "test AUC", "loss", "samples/s"; others as they are.
QString metricTitle(const std::string& metric);
/// Of two or more: loss, test figures, speed, then the others by name.
std::vector<std::string> inUsualOrder(std::vector<std::string> metrics);
/// Text that only the daemon and its tools need (measurements of the measuring).
bool isInternalMetric(std::string_view metric);

}  // namespace millrace::gui
