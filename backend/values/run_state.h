#pragma once
// Where a run stands in its life, and what rank 0 does at the moment.
//
// Each has two texts at most: the word that is stored, filtered by and written as JSON, and for a
// phase what people read. Pure.
#include <optional>
#include <string_view>

namespace millrace::values {

/// A run's life: queued -> starting -> running [-> stopping] -> finished | failed | cancelled.
/// A resumed run goes back to queued. kUnknown: of a newer daemon.
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
/// All but kUnknown, in the order of a life.
inline constexpr RunState kRunStates[] = {
    RunState::kQueued,   RunState::kStarting, RunState::kRunning,  RunState::kStopping,
    RunState::kFinished, RunState::kFailed,   RunState::kCancelled};
/// "queued", "running", ...: the words of the store, of filters, of --json and of tables.
std::string_view nameOf(RunState state);
/// Nothing for a word that is no state.
std::optional<RunState> runStateOf(std::string_view word);
/// True for finished, failed and cancelled.
bool isEnded(RunState state);

/// kEnding: a script's stream is at its end, or the script is; what is left is its own.
enum class Phase { kUnknown, kTraining, kWaiting, kCheckpoint, kEvaluating, kEnding };
/// What people read: "waiting for data"; "" for kUnknown.
std::string_view nameOf(Phase phase);
/// Of the word that rank 0 says and that is stored: "training", "waiting", "checkpoint",
/// "evaluating", "ending"; kUnknown for another.
Phase phaseOf(std::string_view word);

}  // namespace millrace::values
