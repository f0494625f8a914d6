#pragma once
// A rank as people see it: what it does in a word, and the run as that rank alone would tell it, so
// that whatever follows a run follows a rank by the same rules.
//
// Pure. Threads: any.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/values/run_summary.h"

namespace millrace::session {

/// "training", "waiting for data", "checkpoint"; of one that does not get on "stopped", "says
/// nothing", "takes no step", "starved of data"; "starting", "ended".
std::string_view rankWord(const values::RankNow& rank);
/// It does not get on. False of one that is only starved: what it waits for is elsewhere.
bool standsItself(const values::RankNow& rank);
/// How long it has not got on, s; nothing: it does.
std::optional<double> standsSeconds(const values::RankNow& rank, std::int64_t nowMs);
/// How old its step time is, s, where that is to be said: it is of a time that is gone.
std::optional<double> oldStepSeconds(const values::RankNow& rank, std::int64_t nowMs);
/// "12.3 ms", "4.20 s", "n/a".
std::string stepTimeText(const values::RankNow& rank);
/// "2 ranks", "2 ranks, rank 1 does not get on", "8 ranks, 3 do not get on".
std::string ranksText(const std::vector<values::RankNow>& ranks);

/// The run with the rank's progress, trouble and stall in the place of its own.
values::RunSummary seenBy(const values::RankNow& rank, const values::RunSummary& run);

}  // namespace millrace::session
