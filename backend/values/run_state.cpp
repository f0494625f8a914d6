#include "backend/values/run_state.h"

#include <utility>

namespace millrace::values {

namespace {

constexpr std::pair<RunState, std::string_view> kStateNames[] = {
    {RunState::kQueued, "queued"},      {RunState::kStarting, "starting"},
    {RunState::kRunning, "running"},    {RunState::kStopping, "stopping"},
    {RunState::kFinished, "finished"},  {RunState::kFailed, "failed"},
    {RunState::kCancelled, "cancelled"}};

struct PhaseName {
    Phase phase;
    std::string_view word, shown;
};
constexpr PhaseName kPhaseNames[] = {{Phase::kTraining, "training", "training"},
                                     {Phase::kWaiting, "waiting", "waiting for data"},
                                     {Phase::kCheckpoint, "checkpoint", "writing a checkpoint"},
                                     {Phase::kEvaluating, "evaluating", "evaluating"},
                                     {Phase::kEnding, "ending", "ending"}};

}  // namespace

std::string_view nameOf(RunState state) {
    for (const auto& [known, name] : kStateNames) {
        if (known == state) {
            return name;
        }
    }
    return "unknown";
}

std::optional<RunState> runStateOf(std::string_view word) {
    for (const auto& [state, name] : kStateNames) {
        if (name == word) {
            return state;
        }
    }
    return std::nullopt;
}

bool isEnded(RunState state) {
    return state == RunState::kFinished || state == RunState::kFailed ||
           state == RunState::kCancelled;
}

std::string_view nameOf(Phase phase) {
    for (const PhaseName& name : kPhaseNames) {
        if (name.phase == phase) {
            return name.shown;
        }
    }
    return "";
}

Phase phaseOf(std::string_view word) {
    for (const PhaseName& name : kPhaseNames) {
        if (name.word == word) {
            return name.phase;
        }
    }
    return Phase::kUnknown;
}

}  // namespace millrace::values
