#pragma once
// The files of a run below the state directory: ROOT/<run id>/{submit.json, events.jsonl,
// checkpoints/, a<attempt>/{job.json, attempt.json, done.json, stop.json, rank.sock, feed.sock,
// <worker>/}}.
//
// Threads: a value; two writers of one file are the caller's mistake. Failure: errors name the
// path.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/values/run_detail.h"

namespace millrace::agent {

using values::RunEvent;

/// What a submit says that the store has no column for.
struct SubmitFacts {
    std::string fileName, gitBranch, gitRemote;
    std::vector<std::string> sets;
    bool operator==(const SubmitFacts&) const = default;
};

class RunDirectory {
 public:
    RunDirectory(std::string root, std::string runId)
        : path_(std::move(root) + "/" + std::move(runId)) {}

    const std::string& path() const { return path_; }
    std::string checkpointsPath() const { return path_ + "/checkpoints"; }
    std::string attemptPath(int attempt) const;
    std::string jobPath(int attempt) const { return attemptPath(attempt) + "/job.json"; }
    std::string rankSocketPath(int attempt) const { return attemptPath(attempt) + "/rank.sock"; }
    std::string feedSocketPath(int attempt) const { return attemptPath(attempt) + "/feed.sock"; }

    /// Makes the directories of an attempt.
    Status prepare(int attempt) const;
    /// `text`: the whole of job.json.
    Status writeJob(int attempt, const std::string& text) const;
    /// What the daemon itself wants to know again of an attempt: job.json may be many megabytes.
    Status writeAttempt(int attempt, const Json& facts) const;
    /// Of an older version's attempts: job.json. Null when it cannot be read.
    Json readAttempt(int attempt) const;

    Status writeSubmitFacts(const SubmitFacts& facts) const;
    /// Empty facts when there are none.
    SubmitFacts readSubmitFacts() const;

    /// Rank 0's word that it is done: written before it is acknowledged.
    Status writeDone(int attempt, const Json& done) const;
    /// Null when it has not been said.
    Json readDone(int attempt) const;

    /// Until when a run that was asked to stop may take for its checkpoint, wall clock.
    Status writeStop(int attempt, std::int64_t deadlineMs) const;
    /// Nothing when it was not asked to, or by an older version.
    std::optional<std::int64_t> readStop(int attempt) const;

    /// Appends; the file is bounded (256 KiB), what comes later is dropped.
    void addEvent(const RunEvent& event) const;
    std::vector<RunEvent> readEvents() const;

    /// Attempts that have a directory, ascending.
    std::vector<int> attempts() const;
    /// Names of the workers' folders of an attempt that hold a log, sorted.
    std::vector<std::string> workers(int attempt) const;

 private:
    std::string path_;
};

}  // namespace millrace::agent
