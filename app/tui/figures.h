#pragma once
// Tones of runs, and figures of runs and machines as rows of terminal views and tables have them.
// How a figure is written: session/figures.h.
#include <string>

#include "app/session/figures.h"
#include "app/session/live_model.h"
#include "app/tui/tone.h"
#include "backend/values/node.h"
#include "backend/values/run_summary.h"

namespace millrace::tui {

Tone toneOf(values::RunState state);
/// Of its state, or of what is wrong with it while it goes on.
Tone toneOf(const values::RunSummary& run);
/// "no GPU", with the daemon's reason where it has one.
std::string noGpuText(const values::NodeInfo& node);
/// "no GPU", "83 %", "n/a": the mean of a machine's GPUs.
std::string gpuText(const session::LiveNode& node);
/// "22:13:20 +01:00" at the right of a bar; narrow ones have no zone.
std::string barTime(std::int64_t nowMs, int width);
/// "120/630", "120".
std::string stepText(const values::Progress& progress);

}  // namespace millrace::tui
