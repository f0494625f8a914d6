#pragma once
// RunDirectory: the files of a run that only the daemon uses, beside those for its workers
// (job::RunPaths): ROOT/<run id>/{changes.diff, events.jsonl, a<attempt>/{attempt.json, done.json,
// stop.json}}.
//
// Threads: a value; two writers of one file are the caller's mistake. Failure: errors name the
// path.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/job/attempt_paths.h"
#include "backend/rank/rank_line.h"
#include "backend/text/json.h"
#include "backend/values/run_detail.h"

namespace millrace::agent {

/// How an attempt began: facts that a daemon needs about an attempt that it did not start itself.
struct AttemptStart {
    std::int64_t resumeStep = 0;  ///< the step that it goes on after
    std::int64_t fromStep = 0;    ///< what was asked for: a step, values::kFromLast or kFromStart
    std::int64_t restarts = 0;    ///< attempts before it that the daemon started by itself
    int idleAttempts = 0;         ///< of these the last ones, in a row, that took no step
    int lostAttempts = 0;         ///< likewise, of attempts that ended through no fault of its own
    std::string failure;  ///< why the attempt before failed; "" where that was not its fault
    std::int64_t failedStep = 0;  ///< the newest step that it had reported by then
    /// The attempt is over, and another one follows. `isCounted`: the run is to blame.
    void follow(std::int64_t lastStep, bool isCounted, const std::string& reason);
    bool operator==(const AttemptStart&) const = default;
};

class RunDirectory {
 public:
    RunDirectory(std::string_view root, std::string_view runId) : paths_(root, runId) {}

    const job::RunPaths& paths() const { return paths_; }
    const std::string& path() const { return paths_.directory(); }
    std::string checkpointsPath() const { return paths_.checkpoints(); }

    /// kResourceExhausted if the disk has less room than an attempt's start takes.
    Status checkRoom() const;
    /// Makes the run's own directory, which holds its events.
    Status create() const;
    /// Makes the directories of an attempt. `shared`: a directory that all nodes see, for the
    /// checkpoints of new runs; "": in the run's own directory. A run never changes where its
    /// checkpoints are.
    Status prepare(int attempt, const std::string& shared = "") const;
    Status writeAttempt(int attempt, const AttemptStart& start) const;
    /// Returns the values of a first attempt if the file cannot be read.
    AttemptStart readAttempt(int attempt) const;

    /// Returns true if the line is not about a checkpoint, or if its file is here or where all
    /// nodes see it.
    bool hasFile(const rank::RankLine& line) const;
    /// Writes what rank 0 of a script reported about itself.
    Status writeScript(int attempt, const Json& script) const;
    /// Null if it has reported nothing.
    Json readScript(int attempt) const;
    /// Writes the uncommitted changes of the git tree from which a run was submitted.
    Status writeDiff(const std::string& diff) const;
    /// Path of that file; "" if there is none.
    std::string diffPath() const;

    /// Writes the `done` messages; called before they are acknowledged.
    Status writeDone(int attempt, const Json& done) const;
    /// Null if there are none.
    Json readDone(int attempt) const;

    /// Writes the deadline for the checkpoint of a run that was asked to stop, wall clock.
    Status writeStop(int attempt, std::int64_t deadlineMs) const;
    /// Nothing if it was not asked to stop.
    std::optional<std::int64_t> readStop(int attempt) const;
    /// The time that is left until that deadline, for the next daemon; always between 15 s and an
    /// hour.
    std::chrono::milliseconds graceLeft(int attempt, std::int64_t nowMs) const;

    /// Appends an event. The file is bounded (256 KiB); further events are dropped.
    void addEvent(const values::RunEvent& event) const;
    std::vector<values::RunEvent> readEvents() const;

 private:
    std::string inAttempt(int attempt, const char* name) const;

    job::RunPaths paths_;
};

}  // namespace millrace::agent
