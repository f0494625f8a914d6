#pragma once
// Tones of runs, and figures of runs and machines as rows of terminal views and tables have them.
// How a figure is written: session/figures.h.
#include <string>

#include "app/client/daemon_values.h"
#include "app/session/figures.h"
#include "app/session/live_model.h"
#include "app/tui/tone.h"

namespace millrace::tui {

using session::ageText;
using session::clockText;
using session::countText;
using session::localTime;
using session::numberText;
using session::percentText;
using session::rateText;
using session::shortNumber;
using session::timeOfDay;
using session::usedText;
using session::withAge;

Tone toneOf(client::RunState state);
/// Of its state, or of what is wrong with it while it goes on.
Tone toneOf(const client::RunSummary& run);
/// "no GPU", with the daemon's reason where it has one.
std::string noGpuText(const client::NodeInfo& node);
/// "no GPU", "83 %", "n/a": the mean of a machine's GPUs.
std::string gpuText(const session::LiveNode& node);
/// "120/630", "120".
std::string stepText(const client::Progress& progress);

}  // namespace millrace::tui
