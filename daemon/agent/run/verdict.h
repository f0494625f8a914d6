#pragma once
// Decides what follows when a run's gang has ended: the end of the run or another attempt. Pure
// decisions. Used by ActiveRun.
//
// Exit 0 alone is a success only of a run without a dataset. Otherwise every rank must have
// reported done, and an attempt of a script that has read no batch has failed unless the stream was
// at its end. If rank 0's end was not recorded (a power cut), its report and the checkpoint that it
// wrote before decide. After a failed attempt another one starts from the last checkpoint, while
// the restarts allow it and attempts get on: an attempt that fails like the one before it, at the
// same step (with several ranks at most one step apart), is the last. Losing or leaving a node
// costs none of the run's restarts.
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

struct AttemptReports {
    int attempt = 1;
    int ranks = 1;
    std::set<std::int64_t> done;  ///< ranks that sent it
    std::string doneReason;       ///< why it was done, if not because its rows ended
    bool isDoneKept = false;      ///< the checkpoint of the step at which rank 0 was done is stored
    /// Ranks known to have read no batch in this attempt, although the stream was not at its end
    /// where it began.
    std::set<std::int64_t> idleRanks;
    bool isScript = false;    ///< the ranks are a user's own program
    bool hasStream = true;    ///< false: such a program without a dataset; its exit code decides
    bool stoodStill = false;  ///< a rank did, and the gang was ended for it
    /// Ranks that sent `done` and did not leave, so that the daemon ended them: how their processes
    /// ended means nothing.
    std::set<std::string> cutRanks;
    /// Why the daemon ended the gang, if a restart would end in the same way: a rank did not leave
    /// at the stream's end and had not reported how it ended, or a rank left the stream before the
    /// others.
    std::string cutReason;
    bool isStopRequested = false;
    std::string stopReason;
    std::string moveReason;   ///< why its ranks stopped to resume elsewhere; "": they did not
    bool lackedRoom = false;  ///< the head's disk was full meanwhile
    AttemptStart start;
    std::int64_t lastStep = 0;  ///< the newest that it reported
    std::int64_t maxRestarts = 0;
    std::map<std::string, std::string> errors;     ///< a worker's own error message
    std::map<std::string, std::string> lastWords;  ///< last line of its log
    /// The engine's log lines about a worker that never reported, neither in its log nor over its
    /// connection.
    std::map<std::string, std::string> engineWords;
};

struct Verdict {
    enum class Kind { kFinished, kCancelled, kFailed, kRestart } kind = Kind::kFailed;
    std::string reason;     ///< one sentence; empty if finished at the end of its rows
    bool isCounted = true;  ///< a restart for which the run itself is to blame
    bool isFailure() const { return kind == Kind::kFailed || kind == Kind::kRestart; }
};

Verdict judge(const AttemptReports& facts, const engines::State& gang);

/// The state in which a run ends; nothing if another attempt follows.
std::optional<values::RunState> endOf(Verdict::Kind kind);

/// Why the daemon ends a gang, for its workers' logs: the sentence about the rank that stood still,
/// else the reason of the requested stop, else what ended another part of the gang.
std::string whyCut(const std::string& stoodStill, const std::string& stopReason,
                   const std::optional<engines::State>& gang);

/// "rank0 was ended by SIGKILL", "feed ended with code 4 (input or data error)". A rank of a script
/// has exit codes of its own, without a meaning here: "rank0 ended with code 3".
std::string describeExit(const engines::WorkerState& worker, bool isScript = false);

}  // namespace millrace::agent
