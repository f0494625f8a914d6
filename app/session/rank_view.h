#pragma once
// Presents a rank to people: its state in a word, and the run as that rank alone would report it,
// so that code which shows a run can show a rank by the same rules.
//
// Pure. Threads: any.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/values/run_summary.h"

namespace millrace::session {

/// "training", "waiting for data", "checkpoint"; "starting", "ended"; for a rank without progress
/// "stopped", "says nothing", "takes no step", "starved of data".
std::string_view rankWord(const values::RankNow& rank);
/// Whether the rank itself makes no progress. False if it is only starved: the cause is elsewhere.
bool standsItself(const values::RankNow& rank);
/// How long it has made no progress, in seconds; nothing if it makes progress.
std::optional<double> standsSeconds(const values::RankNow& rank, std::int64_t nowMs);
/// The age of its step time in seconds; nothing while the step time is current.
std::optional<double> oldStepSeconds(const values::RankNow& rank, std::int64_t nowMs);
/// "12.3 ms", "4.20 s", "n/a".
std::string stepTimeText(const values::RankNow& rank);
/// "2 ranks", "2 ranks, rank 1 does not get on", "8 ranks, 3 do not get on".
std::string ranksText(const std::vector<values::RankNow>& ranks);

/// The run with the rank's progress, trouble and stall instead of its own.
values::RunSummary seenBy(const values::RankNow& rank, const values::RunSummary& run);

}  // namespace millrace::session
