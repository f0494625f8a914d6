#pragma once
// Tones of runs, and figures of runs and machines, for rows of terminal views and tables.
// session/figures.h formats the figures themselves.
#include <string>

#include "app/session/figures.h"
#include "app/session/live_model.h"
#include "app/tui/tone.h"
#include "backend/values/node.h"
#include "backend/values/run_summary.h"

namespace millrace::tui {

Tone toneOf(values::RunState state);
/// The tone of the run's state, or of its trouble while it is active.
Tone toneOf(const values::RunSummary& run);
/// "no GPU", with the daemon's reason if it reports one.
std::string noGpuText(const values::NodeInfo& node);
/// "no GPU", "83 %", "n/a": the mean of a machine's GPUs.
std::string gpuText(const session::LiveNode& node);
/// "22:13:20 +01:00" for the right end of a bar; narrow bars omit the zone.
std::string barTime(std::int64_t nowMs, int width);
/// "120/630", "120".
std::string stepText(const values::Progress& progress);

}  // namespace millrace::tui
