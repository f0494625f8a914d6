#include "backend/runs/run_figures.h"

#include <cmath>
#include <limits>
#include <utility>

#include "backend/runs/metrics/metric_table.h"

namespace millrace::runs {
namespace {

// A decimated series has its ends, its least and its greatest value.
constexpr int kFewestPoints = 4;

Status addTimedSteps(Database& db, std::int64_t runNo, std::int64_t rows, std::int64_t ms) {
    return db.run(
        "UPDATE run SET timed_rows = timed_rows + ?1, timed_ms = timed_ms + ?2 WHERE no = ?3", rows,
        ms, runNo);
}

}  // namespace

std::optional<values::MetricPoint> bestOf(const values::MetricSeries& series) {
    const values::MetricSense sense = values::senseOf(series.key);
    std::optional<values::MetricPoint> best;
    for (const values::MetricPoint& point : series.points) {
        const double before = best ? best->value : std::numeric_limits<double>::quiet_NaN();
        if (sense != values::MetricSense::kUnknown &&
            values::isBetter(sense, point.value, before)) {
            best = point;
        }
    }
    return best;
}

Result<std::optional<values::MetricPoint>> readBest(Database& db, std::int64_t runNo,
                                                    const std::string& key) {
    ASSIGN_OR_RETURN(const std::vector<values::MetricSeries> all,
                     MetricReader(db, runNo, "").read({{key, {0, INT64_MAX, kFewestPoints}}}));
    return bestOf(all.front());
}

Status setBest(Database& db, std::int64_t runNo, std::string_view key,
               const std::optional<values::MetricPoint>& best) {
    ASSIGN_OR_RETURN(Statement update,
                     db.prepare("UPDATE latest_metric SET best_step = ?1, best_value = ?2 WHERE "
                                "run_no = ?3 AND key = ?4"));
    if (best) {
        update.bind(best->step).bind(best->value);
    } else {
        update.bindNull().bindNull();
    }
    return update.bind(runNo).bind(key).run();
}

Status FigureWriter::add(const ReportedLine& line) {
    bool isStep = false, isEval = false;
    for (const auto& [key, value] : line.values) {
        isStep = isStep || key == kStepMetric;
        isEval = isEval || values::isEvalMetric(key);
        if (values::isBestKept(key)) {
            evals_[key].push_back({line.step, line.epoch, line.rows, line.timeMs, value, attempt_});
        }
    }
    if (!isStep && !isEval) {
        return okStatus();
    }
    RETURN_IF_ERROR(readMark());
    // The time from an evaluation's step to its own line is the evaluation's: it counts for no
    // step.
    const bool isTimed = isStep && mark_ && line.rows > mark_->rows && line.timeMs >= mark_->timeMs;
    if (isTimed) {
        rows_ += line.rows - mark_->rows;
        ms_ += line.timeMs - mark_->timeMs;
    }
    mark_ = Mark{line.rows, line.timeMs};
    return okStatus();
}

// Reads the mark of this attempt's earlier commits: the start of its first step is unknown.
Status FigureWriter::readMark() {
    if (std::exchange(isMarkRead_, true)) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(
        Statement query,
        db_.prepare(
            "SELECT rows, time_ms FROM latest_metric WHERE run_no = ?1 AND (key = ?2 OR (key >= "
            "'eval.' AND key < 'eval/')) AND attempt = ?3 ORDER BY time_ms DESC LIMIT 1",
            runNo_, kStepMetric, attempt_));
    ASSIGN_OR_RETURN(const bool isRow, query.step());
    if (isRow) {
        mark_ = Mark{query.intAt(0), query.intAt(1)};
    }
    return okStatus();
}

Status FigureWriter::finish(bool isOldAttempt) {
    if (rows_ > 0) {
        RETURN_IF_ERROR(addTimedSteps(db_, runNo_, rows_, ms_));
    }
    for (const auto& [key, points] : evals_) {
        RETURN_IF_ERROR(writeBest(key, points, isOldAttempt));
    }
    return okStatus();
}

// For one step only points of the newest attempt count. So a point at the step of the best one may
// replace it, and a late point of an older attempt may not count. In these cases the series
// decides.
Status FigureWriter::writeBest(const std::string& key,
                               const std::vector<values::MetricPoint>& points, bool isOldAttempt) {
    ASSIGN_OR_RETURN(
        Statement query,
        db_.prepare("SELECT best_step, best_value FROM latest_metric WHERE run_no = ? AND key = ?",
                    runNo_, key));
    ASSIGN_OR_RETURN(const bool isRow, query.step());
    std::optional<values::MetricPoint> best;
    if (isRow && !query.isNullAt(0)) {
        best.emplace();
        best->step = query.intAt(0);
        best->value = query.doubleAt(1);
    }
    const auto before = best;
    bool isUnsure = isOldAttempt;
    for (const values::MetricPoint& point : points) {
        isUnsure = isUnsure || (before && point.step == before->step);
        const bool isFirstOfEquals = best && point.value == best->value && point.step < best->step;
        if (!best || values::isBetter(values::senseOf(key), point.value, best->value) ||
            isFirstOfEquals) {
            best = std::isnan(point.value) ? best : point;
        }
    }
    if (isUnsure) {
        ASSIGN_OR_RETURN(best, readBest(db_, runNo_, key));
    }
    return best == before ? okStatus() : setBest(db_, runNo_, key, best);
}

}  // namespace millrace::runs
