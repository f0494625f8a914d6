#pragma once
// What is known of a metric by its name, and the best and the last of a series.
//
// Threads: any.
#include <optional>
#include <string>
#include <string_view>

#include "app/client/daemon_values.h"

namespace millrace::session {

enum class MetricSense { kUnknown, kLowerIsBetter, kHigherIsBetter };

/// By the last part of the name: loss, normalized_entropy, log_loss, ... or auc, ...; of others
/// nothing is known.
MetricSense senseOf(std::string_view metric);
/// Measured on the evaluation rows: only runs with the same rows compare.
bool isEvalMetric(std::string_view metric);
/// Depends on which rows were trained: only runs of the same stream compare.
bool isTrainMetric(std::string_view metric);

/// A value and the step it stands at.
struct StepValue {
    double value = 0;
    std::int64_t step = 0;
    bool operator==(const StepValue&) const = default;
};
struct BestAndLast {
    std::optional<StepValue> best;  ///< none where it is not known which way is better
    std::optional<StepValue> last;
};
/// A thinned series keeps its extremes and its last point, so it is as good as the whole. The first
/// of equals; NaN is never the best.
BestAndLast bestAndLast(const client::MetricSeries& series);

}  // namespace millrace::session
