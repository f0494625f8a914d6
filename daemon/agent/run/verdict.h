#pragma once
// What becomes of a run when its gang has ended: pure decisions.
//
// Exit 0 is no success, but of a run without a dataset: every rank must have said done, and an
// attempt of a script that has read no batch has failed where the stream was not at its end. Where
// rank 0's end was not recorded (a power cut), its word and the checkpoint that it wrote before
// decide. A failed attempt is followed by another one from the last checkpoint while the restarts
// allow it and attempts get on. Losing a node is no failure of the run: it costs none of its
// restarts, and neither does leaving a node.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "backend/core/exit_codes.h"
#include "backend/engines/engine.h"
#include "backend/values/run_state.h"
#include "daemon/agent/run/run_directory.h"

namespace millrace::agent {

struct AttemptFacts {
    int attempt = 1;
    int ranks = 1;
    std::set<std::int64_t> done;  ///< ranks that said so
    std::string doneReason;       ///< why it was done, where that is not the end of its rows
    bool isDoneKept = false;      ///< the checkpoint of the step that rank 0 was done at is stored
    /// Ranks known to have read no batch in this attempt, although the stream was not at its end
    /// where it began.
    std::set<std::int64_t> idleRanks;
    bool isScript = false;    ///< the ranks are a program of the user's own
    bool hasStream = true;    ///< false: such a program without a dataset, whose exit code decides
    bool stoodStill = false;  ///< a rank did, and the gang was ended for it
    /// Ranks that said done and that the daemon then ended, as they did not leave: how their
    /// processes ended says nothing.
    std::set<std::string> cutRanks;
    /// Why the daemon ended the gang, where the same again would end the same: a rank did not leave
    /// at the stream's end and had not said how it ended, or one left the stream before the others.
    std::string cutReason;
    bool isStopRequested = false;
    std::string stopReason;
    std::string moveReason;   ///< why its ranks stopped to go on elsewhere; "": they did not
    bool lackedRoom = false;  ///< the head's disk was full meanwhile
    AttemptStart start;
    std::int64_t lastStep = 0;  ///< the newest it reported
    std::int64_t maxRestarts = 0;
    std::map<std::string, std::string> errors;     ///< a worker's own error sentence
    std::map<std::string, std::string> lastWords;  ///< last line of its log
    /// The engine's own, of a worker that never spoke: neither in its log nor over its connection.
    std::map<std::string, std::string> engineWords;
};

struct Verdict {
    enum class Kind { kFinished, kCancelled, kFailed, kRestart } kind = Kind::kFailed;
    std::string reason;     ///< one sentence; empty when finished at the end of its rows
    bool isCounted = true;  ///< a restart for which the run itself is to blame
    bool isFailure() const { return kind == Kind::kFailed || kind == Kind::kRestart; }
};

Verdict judge(const AttemptFacts& facts, const engines::State& gang);

/// The state that a run ends in; nothing where another attempt follows.
std::optional<values::RunState> endOf(Verdict::Kind kind);

/// Why the daemon ends a gang, for its workers' logs: the sentence about the rank that stood still,
/// else the reason of the stop that was asked for, else what ended another part of the gang.
std::string whyCut(const std::string& stoodStill, const std::string& stopReason,
                   const std::optional<engines::State>& gang);

/// "rank0 was ended by SIGKILL", "feed ended with code 4 (input or data error)".
std::string describeExit(const engines::WorkerState& worker);

}  // namespace millrace::agent
