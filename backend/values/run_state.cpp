#include "backend/values/run_state.h"

#include <utility>

namespace millrace::values {

std::string_view nameOf(RunState state) {
    switch (state) {
        case RunState::kQueued:
            return "queued";
        case RunState::kStarting:
            return "starting";
        case RunState::kRunning:
            return "running";
        case RunState::kStopping:
            return "stopping";
        case RunState::kFinished:
            return "finished";
        case RunState::kFailed:
            return "failed";
        case RunState::kCancelled:
            return "cancelled";
        case RunState::kUnknown:
            break;
    }
    return "unknown";
}

std::optional<RunState> runStateOf(std::string_view word) {
    for (const RunState state : kRunStates) {
        if (nameOf(state) == word) {
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
    switch (phase) {
        case Phase::kTraining:
            return "training";
        case Phase::kWaiting:
            return "waiting for data";
        case Phase::kCheckpoint:
            return "writing a checkpoint";
        case Phase::kEvaluating:
            return "evaluating";
        case Phase::kEnding:
            return "ending";
        case Phase::kUnknown:
            break;
    }
    return "";
}

Phase phaseOf(std::string_view word) {
    constexpr std::pair<std::string_view, Phase> kWords[] = {{"training", Phase::kTraining},
                                                             {"waiting", Phase::kWaiting},
                                                             {"checkpoint", Phase::kCheckpoint},
                                                             {"evaluating", Phase::kEvaluating},
                                                             {"ending", Phase::kEnding}};
    for (const auto& [known, phase] : kWords) {
        if (known == word) {
            return phase;
        }
    }
    return Phase::kUnknown;
}

}  // namespace millrace::values
