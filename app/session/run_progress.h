#pragma once
// How far a run is, how fast, how long still, and how much it waits for data: computed here once
// for the command line, the terminal views and the console.
//
// The stall has one rule. Of a run that goes it is the share of the time between its last two
// reports in which rank 0 waited for data. What the trainer logs as "input_stall_percent" stands in
// only before there are two reports: it is logged at the end of a step, so while a step waits, when
// the figure matters, the last one is of a time that is gone, and reports come all the same. A run
// that is queued or has ended has no stall of now. Pace and time left are those of the last 30 s of
// reports, and none where reports are old (rate_age.h).
//
// A value with plain rules: note() every summary as it is told. Threads: one owner; copy it to hand
// it on.
#include <cstdint>
#include <deque>
#include <optional>
#include <utility>

#include "app/session/rate_age.h"
#include "backend/values/run_summary.h"

namespace millrace::session {

/// Neither queued nor ended.
bool isGoing(const values::RunSummary& run);
/// The share of the steps that are done, 0 to 1; nothing where the total is unknown.
std::optional<double> shareDone(const values::RunSummary& run);
/// Since the first worker started, up to the end; 0 before.
double elapsedSeconds(const values::RunSummary& run, std::int64_t nowMs);

/// `run` is always the summary that was noted last.
class RunProgress {
 public:
    void note(const values::RunSummary& run, std::int64_t nowMs);

    /// Over the last seconds; nothing before two reports.
    std::optional<double> stepsPerSecond() const;
    /// At that pace; nothing where the total or the pace is unknown, or of a time that is gone.
    std::optional<double> secondsLeft(const values::RunSummary& run, std::int64_t nowMs) const;
    /// By the rule above.
    std::optional<double> stallPercent(const values::RunSummary& run) const;
    /// How old the rates are, s, where that is to be said.
    std::optional<double> oldRatesSeconds(const values::RunSummary& run, std::int64_t nowMs) const;

 private:
    void notePace(const values::Progress& report);
    void noteReport(const values::RunSummary& run);

    std::deque<std::pair<std::int64_t, std::int64_t>> pace_;  // (time in ms, step), 30 s
    // The two newest reports of the same attempt.
    std::optional<values::Progress> before_, newest_;
    int attempt_ = 0;
    std::int64_t attemptFromMs_ = 0;  // reports up to then are of attempts before
    RateAge rateAge_;
};

}  // namespace millrace::session
