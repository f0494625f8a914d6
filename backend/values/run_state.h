#pragma once
// A run's state in its life cycle, and rank 0's current phase.
//
// Each has at most two texts: the word for the store, filters and JSON, and for a phase the text
// for people. Pure.
#include <optional>
#include <string_view>

namespace millrace::values {

/// A run's life: queued -> starting -> running [-> stopping] -> finished | failed | cancelled. A
/// resumed run returns to queued. kUnknown: a newer daemon's state.
enum class RunState {
    kUnknown,
    kQueued,
    kStarting,
    kRunning,
    kStopping,
    kFinished,
    kFailed,
    kCancelled
};
/// All states except kUnknown, in life-cycle order.
inline constexpr RunState kRunStates[] = {
    RunState::kQueued,   RunState::kStarting, RunState::kRunning,  RunState::kStopping,
    RunState::kFinished, RunState::kFailed,   RunState::kCancelled};
/// "queued", "running", ...: the words in the store, filters, --json and tables.
std::string_view nameOf(RunState state);
/// Nothing for any other word.
std::optional<RunState> runStateOf(std::string_view word);
/// True for finished, failed and cancelled.
bool isEnded(RunState state);

/// kEnding: a script's stream, or the script, is at its end; only its own work is left.
enum class Phase { kUnknown, kTraining, kWaiting, kCheckpoint, kEvaluating, kEnding };
/// The text for people: "waiting for data"; "" for kUnknown.
std::string_view nameOf(Phase phase);
/// The phase for the word that rank 0 reports and the store keeps: "training", "waiting",
/// "checkpoint", "evaluating", "ending"; kUnknown for other words.
Phase phaseOf(std::string_view word);

}  // namespace millrace::values
