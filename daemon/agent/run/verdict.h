#pragma once
// What becomes of a run when its gang has ended: pure decisions.
//
// Exit 0 is no success: rank 0 must have said done. Where its end was not recorded (a power cut),
// its word and the checkpoint that it wrote before decide. A failed attempt is followed by another
// one from the last checkpoint while the restarts allow it and attempts get on.
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "backend/core/exit_codes.h"
#include "backend/engines/engine.h"
#include "backend/values/run_state.h"

namespace millrace::agent {

struct AttemptFacts {
    int attempt = 1;
    bool hasSaidDone = false;
    std::string doneReason;   ///< why it was done, where that is not the end of its rows
    bool isDoneKept = false;  ///< the checkpoint of the step that it was done at is stored
    bool isScript = false;    ///< the ranks are a program of the user's own
    bool stoodStill = false;  ///< a rank did, and the gang was ended for it
    bool isStopRequested = false;
    std::string stopReason;
    std::int64_t resumeStep = 0;  ///< the step this attempt started after
    std::int64_t lastStep = 0;    ///< the newest it reported
    int idleAttempts = 0;         ///< attempts before this one, in a row, that took no step
    std::int64_t restarts = 0, maxRestarts = 0;
    std::map<std::string, std::string> errors;     ///< a worker's own error sentence
    std::map<std::string, std::string> lastWords;  ///< last line of its log
    /// The engine's own, of a worker that never spoke: neither in its log nor over its connection.
    std::map<std::string, std::string> engineWords;
};

struct Verdict {
    enum class Kind { kFinished, kCancelled, kFailed, kRestart } kind = Kind::kFailed;
    std::string reason;  ///< one sentence; empty when finished at the end of its rows
};

Verdict judge(const AttemptFacts& facts, const engines::State& gang);

/// The state that a run ends in; nothing where another attempt follows.
std::optional<values::RunState> endOf(Verdict::Kind kind);

/// "rank0 was ended by SIGKILL", "feed ended with code 4 (input or data error)".
std::string describeExit(const engines::WorkerState& worker);

}  // namespace millrace::agent
