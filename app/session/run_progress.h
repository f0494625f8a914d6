#pragma once
// How far a run is, how long still, and how much it waits for data: the one place where the command
// line, the terminal views and the console ask.
//
// Pace and stall are the daemon's (RunSummary::progress), so that all faces show the same. Waiting
// for data has two figures: "now", of the last seconds of a run that goes on, and that of the whole
// run, which alone is left when it has ended. What a trainer logs as "input_stall_percent" is
// neither: it is a curve, of which the last point says nothing of the run.
//
// A value with plain rules: note() every summary as it is told. Threads: one owner; copy it to hand
// it on.
#include <cstdint>
#include <optional>
#include <string>

#include "app/session/rate_age.h"
#include "backend/values/run_summary.h"

namespace millrace::session {

/// Neither queued nor ended.
bool isGoing(const values::RunSummary& run);
/// The share of the steps that are done, 0 to 1; nothing where the total is unknown.
std::optional<double> shareDone(const values::RunSummary& run);
/// Since the first worker started, up to the end; 0 before.
double elapsedSeconds(const values::RunSummary& run, std::int64_t nowMs);
/// Of the last seconds, percent; nothing of a run that is queued or has ended.
std::optional<double> stallNow(const values::RunSummary& run);
/// "now 0 %, run 36 %" of a run that goes on, "run 36 %" where `isNowOld`, "36 %" of one that has
/// ended; "-" where neither is known, and of a run without a dataset.
std::string stallText(const values::RunSummary& run, bool isNowOld = false);
/// "3.0 s starting, 41 s training, 1 m 02 s waiting for data, 5.0 s evaluating, 0.4 s in
/// checkpoints": where its time went; "" where that is not known.
std::string timesText(const values::PhaseTimes& times);
/// "checkpoint of step 400 is on its way to the head: 1.2 GB of 3.1 GB; 2 more wait"; "" where
/// nothing is.
std::string handOverText(const std::optional<values::HandOver>& handOver);

/// `run` is always the summary that was noted last.
class RunProgress {
 public:
    void note(const values::RunSummary& run, std::int64_t nowMs) { rateAge_.note(run, nowMs); }

    /// As RunSummary; none where its reports are of a time that is gone.
    std::optional<double> secondsLeft(const values::RunSummary& run, std::int64_t nowMs) const;
    /// How old the rates are, s, where that is to be said.
    std::optional<double> oldRatesSeconds(const values::RunSummary& run, std::int64_t nowMs) const;

 private:
    RateAge rateAge_;
};

}  // namespace millrace::session
