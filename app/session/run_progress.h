#pragma once
// RunProgress: a run's progress, remaining time and data stall; the single source of these figures
// for the command line, the terminal views and the console.
//
// Pace and stall are the daemon's (RunSummary::progress), so every user interface shows the same.
// The data stall has two figures: "now", over the last seconds of an active run, and "run", over
// the whole run, which alone remains when the run has ended. The metric "input_stall_percent" that
// a trainer logs is neither: it is a curve, and its last point does not describe the run.
//
// A plain value: pass every summary to note(). Threads: one owner; copy it to pass it on.
#include <cstdint>
#include <optional>
#include <string>

#include "app/session/rate_age.h"
#include "backend/values/frame_traffic.h"
#include "backend/values/run_summary.h"

namespace millrace::session {

/// Whether the run is neither queued nor ended.
bool isGoing(const values::RunSummary& run);
/// The share of the steps that are done, 0 to 1; nothing if the total is unknown.
std::optional<double> shareDone(const values::RunSummary& run);
/// Seconds since the first worker started, up to the end; 0 before.
double elapsedSeconds(const values::RunSummary& run, std::int64_t nowMs);
/// The stall over the last seconds, in percent; nothing for a run that is queued or has ended.
std::optional<double> stallNow(const values::RunSummary& run);
/// "now 0 %, run 36 %" for an active run, "run 36 %" if `isNowOld`, "36 %" for one that has ended;
/// "-" if neither is known, or the run has no dataset.
std::string stallText(const values::RunSummary& run, bool isNowOld = false);
/// If the ranks of an active run wait for frames of a slow link: a sentence that names both nodes
/// and the rate. "" otherwise.
std::string slowLinkText(const values::RunSummary& run, const values::FrameTraffic& traffic);
/// The parts of the run's time: "3.0 s starting, 41 s training, 1 m 02 s waiting for data, 5.0 s
/// evaluating, 0.4 s in checkpoints"; "" if unknown.
std::string timesText(const values::PhaseTimes& times);
/// "checkpoint of step 400 is on its way to the head: 1.2 GB of 3.1 GB; 2 more wait"; "" if no
/// checkpoint is being copied.
std::string handOverText(const std::optional<values::HandOver>& handOver);

/// `run` is always the summary that was last passed to note().
class RunProgress {
 public:
    void note(const values::RunSummary& run, std::int64_t nowMs) { rateAge_.note(run, nowMs); }

    /// Like RunSummary's; nothing if its reports are too old.
    std::optional<double> secondsLeft(const values::RunSummary& run, std::int64_t nowMs) const;
    /// The age of the rates in seconds; nothing while they are current.
    std::optional<double> oldRatesSeconds(const values::RunSummary& run, std::int64_t nowMs) const;

 private:
    RateAge rateAge_;
};

}  // namespace millrace::session
