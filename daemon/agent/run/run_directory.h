#pragma once
// What the daemon keeps for itself of a run, beside what its workers are given (job::RunPaths):
// ROOT/<run id>/{changes.diff, events.jsonl, a<attempt>/{attempt.json, done.json, stop.json}}.
//
// Threads: a value; two writers of one file are the caller's mistake. Failure: errors name the
// path.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/job/attempt_paths.h"
#include "backend/rank/rank_line.h"
#include "backend/values/run_detail.h"

namespace millrace::agent {

/// How an attempt began: what the daemon wants to know again of one that it did not start.
struct AttemptStart {
    std::int64_t resumeStep = 0;  ///< the step that it goes on after
    std::int64_t fromStep = 0;    ///< what was asked for: a step, values::kFromLast or kFromStart
    std::int64_t restarts = 0;    ///< attempts before it that the daemon started by itself
    int idleAttempts = 0;         ///< of these the last ones, in a row, that took no step
    int lostAttempts = 0;         ///< likewise, of attempts whose end was no fault of the run
    /// The attempt is over, and another one follows. `isCounted`: the run is to blame.
    void follow(bool tookSteps, bool isCounted);
    bool operator==(const AttemptStart&) const = default;
};

class RunDirectory {
 public:
    RunDirectory(std::string_view root, std::string_view runId) : paths_(root, runId) {}

    const job::RunPaths& paths() const { return paths_; }
    const std::string& path() const { return paths_.directory(); }
    std::string checkpointsPath() const { return paths_.checkpoints(); }

    /// kResourceExhausted where the disk has less room than an attempt's start takes.
    Status checkRoom() const;
    /// Makes the run's own directory, where its events go.
    Status create() const;
    /// Makes the directories of an attempt. `shared`: a directory that all nodes see, where those
    /// of a new run keep their checkpoints; "": in the run's own. A run keeps the place that it
    /// has.
    Status prepare(int attempt, const std::string& shared = "") const;
    Status writeAttempt(int attempt, const AttemptStart& start) const;
    /// As of a first attempt when it cannot be read.
    AttemptStart readAttempt(int attempt) const;

    /// Whether the line tells of no checkpoint, or of one whose file is here, or where all nodes
    /// see it.
    bool hasFile(const rank::RankLine& line) const;
    /// What rank 0 of a script said of itself.
    Status writeScript(int attempt, const Json& script) const;
    /// Null when it has said nothing.
    Json readScript(int attempt) const;
    /// Of the git tree that a run was submitted from: what was changed in it.
    Status writeDiff(const std::string& diff) const;
    /// Of its file; "" where there is none.
    std::string diffPath() const;

    /// Rank 0's word that it is done: written before it is acknowledged.
    Status writeDone(int attempt, const Json& done) const;
    /// Null when it has not been said.
    Json readDone(int attempt) const;

    /// Until when a run that was asked to stop may take for its checkpoint, wall clock.
    Status writeStop(int attempt, std::int64_t deadlineMs) const;
    /// Nothing when it was not asked to.
    std::optional<std::int64_t> readStop(int attempt) const;
    /// What is left of that for the next daemon, whatever was given: 15 s to an hour.
    std::chrono::milliseconds graceLeft(int attempt, std::int64_t nowMs) const;

    /// Appends; the file is bounded (256 KiB), what comes later is dropped.
    void addEvent(const values::RunEvent& event) const;
    std::vector<values::RunEvent> readEvents() const;

 private:
    std::string inAttempt(int attempt, const char* name) const;

    job::RunPaths paths_;
};

}  // namespace millrace::agent
