#include "daemon/agent/times/time_account.h"

#include <algorithm>

#include "backend/runs/rank_fold.h"
#include "backend/values/metric_names.h"

namespace millrace::agent {
namespace {

runs::ReportedLine lineOf(int rank, const values::PhaseTimes& times, std::int64_t timeMs) {
    runs::ReportedLine line;
    line.rank = rank;
    line.timeMs = timeMs;
    for (std::size_t i = 0; i < values::metric::kSystemTimes.size(); ++i) {
        line.values.emplace_back(values::metric::kSystemTimes[i],
                                 times.*values::PhaseTimes::parts()[i]);
    }
    return line;
}

}  // namespace

void TimeAccount::begin(const Result<std::vector<runs::AttemptRecord>>& attempts,
                        values::RunLive& live) {
    *this = TimeAccount();
    live.times.reset();
    live.stallPercentNow.reset();
    live.stepsPerSecond.reset();
    if (!attempts.ok()) {
        return;
    }
    for (const runs::AttemptRecord& attempt : *attempts) {
        if (attempt.attempt < attempts->back().attempt) {
            before_ += attempt.times;
        }
        startedMs_ = attempt.startedMs;
    }
    const bool isNew = !attempts->empty() && attempts->back().times.sum() == 0;
    if (isNew) {
        live.times = before_;
        live.progressMs = startedMs_;
    } else if (!attempts->empty()) {
        storedStartMs_ = attempts->back().times.startMs;
    }
}

void TimeAccount::heard(const rank::Progress& report, const RecentReports& recent,
                        std::int64_t nowMs, values::RunLive& live) {
    // Of an adopted attempt the first reports are old ones, which waited for this daemon.
    if (!leadMs_) {
        leadMs_ = std::max(0.0, storedStartMs_
                                    ? *storedStartMs_ - report.times.startMs
                                    : static_cast<double>(nowMs - startedMs_) - report.times.sum());
    }
    values::PhaseTimes times = before_;
    times += report.times;
    times.startMs += *leadMs_;
    live.times = times;
    live.progressMs = nowMs;
    const bool isEnding = report.phase == values::nameOf(values::Phase::kEnding);
    live.stallPercentNow = isEnding ? std::nullopt : recent.stallPercent();
    live.stepsPerSecond = isEnding ? std::nullopt : recent.stepsPerSecond();
}

std::vector<runs::ReportedLine> timeLines(const values::RunLive& live) {
    std::vector<runs::ReportedLine> lines;
    if (live.times.has_value()) {
        lines.push_back(lineOf(values::kNoRank, *live.times, live.progressMs));
    }
    const bool areApart = live.ranks.size() > 1 && live.ranks.size() <= runs::kRanksKept;
    for (const values::RankNow& rank : live.ranks) {
        if (areApart && rank.times.has_value()) {
            lines.push_back(lineOf(rank.rank, *rank.times, rank.timeMs));
        }
    }
    return lines;
}

}  // namespace millrace::agent
