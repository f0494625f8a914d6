#include "backend/runs/line_writer.h"

#include <algorithm>
#include <set>

#include "backend/runs/metrics/rank_fold.h"

namespace millrace::runs {

Status LineWriter::write(const ReportedLine& line) {
    if (!limits_.isVisible(attempt_, line.step)) {
        return okStatus();
    }
    std::set<std::string_view> refused;
    const auto take = [&](const std::string& key, double value) -> Status {
        ASSIGN_OR_RETURN(const bool isAdmitted, admits(key));
        if (!isAdmitted) {
            refused.insert(key);
            refusedKey_ = refusedKey_.empty() ? key : refusedKey_;
        } else if (line.rank == values::kNoRank) {
            noteNewest(key, line, value);
        }
        return okStatus();
    };
    for (const auto& [key, value] : line.values) {
        RETURN_IF_ERROR(take(key, value));
    }
    for (const auto& [key, summary] : line.summaries) {
        RETURN_IF_ERROR(take(key, summary.median));
    }
    if (refused.empty()) {
        return store(line);
    }
    ReportedLine rest = line;
    const auto isRefused = [&](const auto& one) { return refused.contains(one.first); };
    std::erase_if(rest.values, isRefused);
    std::erase_if(rest.summaries, isRefused);
    return rest.values.empty() && rest.summaries.empty() ? okStatus() : store(rest);
}

void LineWriter::noteNewest(const std::string& key, const ReportedLine& line, double value) {
    Newest& newest = newest_[key];
    const auto order = [](const ReportedLine& l) { return std::pair(l.step, l.timeMs); };
    if (newest.line == nullptr || order(line) >= order(*newest.line)) {
        newest = {&line, value};
    }
}

Status LineWriter::finish(bool isOldAttempt) {
    for (const auto& [key, newest] : newest_) {
        RETURN_IF_ERROR(writeLatest(key, *newest.line, newest.value));
    }
    RETURN_IF_ERROR(figures_.finish(isOldAttempt));
    return hasLines_ ? metrics_.sealIfLong() : okStatus();
}

Status LineWriter::store(const ReportedLine& line) {
    hasLines_ = true;
    if (line.rank == values::kNoRank) {
        RETURN_IF_ERROR(figures_.add(line));
    }
    return metrics_.append(attempt_, line);
}

// Looks a name up only if the run may have reached its limit of names.
Result<bool> LineWriter::admits(const std::string& key) {
    if (key.size() > kMetricKeyBytesMax) {
        return false;
    }
    if (newest_.contains(key)) {
        return true;
    }
    if (numKeys_ < 0) {
        ASSIGN_OR_RETURN(numKeys_,
                         db_.queryInt("SELECT count(*) FROM latest_metric WHERE run_no = ?", no_));
    }
    if (numKeys_ + static_cast<std::int64_t>(newest_.size()) < kMetricKeysMax) {
        return true;
    }
    if (numNew_ < 0) {
        numNew_ = 0;
        for (const auto& [name, newest] : newest_) {
            ASSIGN_OR_RETURN(const bool isOld, isKnown(name));
            numNew_ += isOld ? 0 : 1;
        }
    }
    ASSIGN_OR_RETURN(const bool isOld, isKnown(key));
    if (!isOld && numKeys_ + numNew_ >= kMetricKeysMax) {
        return false;
    }
    numNew_ += isOld ? 0 : 1;
    return true;
}

Result<bool> LineWriter::isKnown(std::string_view key) {
    ASSIGN_OR_RETURN(Statement query,
                     db_.prepare("SELECT 1 FROM latest_metric WHERE run_no = ? AND key = ?"));
    return query.bind(no_).bind(key).step();
}

Status LineWriter::writeLatest(std::string_view key, const ReportedLine& line, double value) {
    return db_.run(
        "INSERT INTO latest_metric(run_no, key, step, attempt, epoch, rows, time_ms, value) "
        "VALUES(?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET step = excluded.step, attempt = "
        "excluded.attempt, epoch = excluded.epoch, rows = excluded.rows, time_ms = "
        "excluded.time_ms, value = excluded.value WHERE (excluded.attempt, excluded.step, "
        "excluded.time_ms) >= (latest_metric.attempt, latest_metric.step, latest_metric.time_ms)",
        no_, key, line.step, attempt_, line.epoch, line.rows, line.timeMs, value);
}

Status writeOpenSteps(Database& db, std::int64_t no) {
    ASSIGN_OR_RETURN(const std::vector<int> attempts, RankFold::openAttempts(db, no));
    if (attempts.empty()) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::int64_t newest, currentAttempt(db, no));
    for (const int attempt : attempts) {
        ASSIGN_OR_RETURN(const std::vector<ReportedLine> lines,
                         RankFold(db, no, attempt).takeAll());
        ASSIGN_OR_RETURN(AttemptLimits limits, AttemptLimits::read(db, no));
        LineWriter writer(db, no, attempt, std::move(limits));
        for (const ReportedLine& line : lines) {
            RETURN_IF_ERROR(writer.write(line));
        }
        RETURN_IF_ERROR(writer.finish(attempt < newest));
    }
    return okStatus();
}

}  // namespace millrace::runs
