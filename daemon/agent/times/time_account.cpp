#include "daemon/agent/times/time_account.h"

#include <algorithm>
#include <utility>

#include "backend/runs/metrics/rank_fold.h"
#include "backend/values/metric_names.h"

namespace millrace::agent {
namespace {

runs::ReportedLine lineOf(int rank, const values::PhaseEdges::Report& report) {
    runs::ReportedLine line;
    line.rank = rank;
    line.step = report.step;
    line.epoch = report.epoch;
    line.rows = report.rows;
    line.timeMs = report.timeMs;
    for (std::size_t i = 0; i < values::metric::kSystemTimes.size(); ++i) {
        line.values.emplace_back(values::metric::kSystemTimes[i],
                                 report.times.*values::PhaseTimes::parts()[i]);
    }
    line.values.emplace_back(values::metric::kSystemStandingMs, report.standingMs);
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

TimeLines TimeAccount::heard(const rank::Progress& report, const RecentReports& recent,
                             std::int64_t nowMs, values::RunLive& live) {
    // In an adopted attempt the first reports are old: they waited for this daemon.
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
    values::RankNow run;
    run.rank = values::kNoRank;
    run.standsSinceMs = live.standsSinceMs;
    run.phase = values::phaseOf(report.phase);
    run.step = report.step;
    run.times = times;
    run.timeMs = nowMs;
    std::vector<values::RankNow> all = {std::move(run)};
    if (live.ranks.size() > 1 && live.ranks.size() <= runs::kRanksKept) {
        all.insert(all.end(), live.ranks.begin(), live.ranks.end());
    }
    TimeLines lines;
    for (const values::RankNow& rank : all) {
        if (auto line = follow(rank, report)) {
            lines.push_back(*std::move(line));
        }
    }
    return lines;
}

// A standstill is reported by an earlier report or after it, never by the report that ends it.
std::optional<runs::ReportedLine> TimeAccount::follow(const values::RankNow& now,
                                                      const rank::Progress& report) {
    Reports& known = reports_[now.rank];
    const std::int64_t since = std::max(known.standsSinceMs, now.standsSinceMs);
    known.standsSinceMs = now.standsSinceMs;
    if (now.timeMs <= known.timeMs || !now.times.has_value()) {
        return std::nullopt;
    }
    if (since != 0 && known.timeMs != 0 && !known.isWaiting) {
        known.standingMs += static_cast<double>(now.timeMs - std::max(since, known.timeMs));
    }
    known.timeMs = now.timeMs;
    known.stalledSinceMs = known.stalledUntilMs = 0;
    known.isWaiting = now.phase == values::Phase::kWaiting;
    known.last = {*now.times, known.standingMs, now.timeMs, now.step, report.epoch, report.rows};
    const auto edge = known.edges.note(known.last);
    return edge ? std::optional(lineOf(now.rank, *edge)) : std::nullopt;
}

void TimeAccount::look(std::int64_t nowMs, const values::RunLive& live) {
    note(values::kNoRank, live.standsSinceMs, nowMs);
    for (const values::RankNow& rank : live.ranks) {
        note(rank.rank, rank.standsSinceMs, nowMs);
    }
}

// Waiting for data is a kind of its own.
void TimeAccount::note(int rank, std::int64_t sinceMs, std::int64_t nowMs) {
    const auto known = reports_.find(rank);
    if (known != reports_.end() && sinceMs != 0 && !known->second.isWaiting) {
        known->second.stalledSinceMs = sinceMs;
        known->second.stalledUntilMs = nowMs;
    }
}

// The store counts the time from the last report to the end as ending (as the start if no rank had
// begun to train), so the stall is a part of that.
TimeLines TimeAccount::lastStalls() const {
    TimeLines lines;
    for (const auto& [rank, known] : reports_) {
        if (known.stalledUntilMs <= known.timeMs || known.timeMs == 0) {
            continue;
        }
        values::PhaseEdges::Report stalled = known.last;
        const values::PhaseTimes own =
            rank == values::kNoRank ? stalled.times - before_ : stalled.times;
        (own.sum() > own.startMs ? stalled.times.endingMs : stalled.times.startMs) +=
            static_cast<double>(known.stalledUntilMs - known.timeMs);
        stalled.standingMs += static_cast<double>(known.stalledUntilMs -
                                                  std::max(known.stalledSinceMs, known.timeMs));
        stalled.timeMs = known.stalledUntilMs;
        values::PhaseEdges edges = known.edges;
        if (const auto before = edges.note(stalled)) {
            lines.push_back(lineOf(rank, *before));
        }
        lines.push_back(lineOf(rank, stalled));
    }
    return lines;
}

}  // namespace millrace::agent
