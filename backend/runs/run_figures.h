#pragma once
// RunFigures: the figures of a run that lists show, so that no list reads a series: the best value
// of each evaluation metric, and the rows and the time of its steps.
//
// Kept in latest_metric and run as lines are committed; docs/formats/metrics.md defines what
// counts.
// Threads: one at a time, inside the caller's transaction. Failure: as of Database.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/runs/database.h"
#include "backend/runs/run_lines.h"
#include "backend/values/metric_names.h"

namespace millrace::runs {

/// Each step of a run is a line with this metric.
inline constexpr std::string_view kStepMetric = values::metric::kLoss;

/// The best point of a whole or decimated series: the first of equals. Nothing if all are NaN, or
/// if the metric's better direction is unknown.
std::optional<values::MetricPoint> bestOf(const values::MetricSeries& series);
/// The same for a metric of the store.
Result<std::optional<values::MetricPoint>> readBest(Database& db, std::int64_t runNo,
                                                    const std::string& key);
/// Stores a metric's best value beside its newest.
Status setBest(Database& db, std::int64_t runNo, std::string_view key,
               const std::optional<values::MetricPoint>& best);

/// Collects the figures of one commit's lines, which are already stored in their metrics.
class FigureWriter {
 public:
    FigureWriter(Database& db, std::int64_t runNo, int attempt)
        : db_(db), runNo_(runNo), attempt_(attempt) {}

    /// A line that was stored, in the order of the commit. Call before finish(), and before the
    /// newest values are updated.
    Status add(const ReportedLine& line);
    /// `isOldAttempt`: the attempt is not the newest.
    Status finish(bool isOldAttempt);

 private:
    // The end of the previous step or evaluation.
    struct Mark {
        std::int64_t rows = 0, timeMs = 0;
    };

    Status readMark();
    Status writeBest(const std::string& key, const std::vector<values::MetricPoint>& points,
                     bool isOldAttempt);

    Database& db_;
    const std::int64_t runNo_;
    const int attempt_;
    bool isMarkRead_ = false;
    std::optional<Mark> mark_;
    std::int64_t rows_ = 0, ms_ = 0;
    std::map<std::string, std::vector<values::MetricPoint>> evals_;
};

}  // namespace millrace::runs
