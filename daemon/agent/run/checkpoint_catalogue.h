#pragma once
// CheckpointCatalogue: which checkpoints a run has, and the only owner of their files.
//
// The store says which course a run took and which steps all ranks have ended, the directory which
// files there are; at an attempt's start both are brought together. "Not there" and "cannot be
// read" are different answers: the first is a fact about the run, the second stops the attempt and
// changes nothing. Files are removed only while the store has newer ones; what no attempt may go on
// from is renamed, not removed. Threads: any, one call for a run at a time; a survey reads whole
// files, so that it is no work for the agent's thread. Failure: a survey's `status`; nothing here
// throws.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/checkpoint/checkpoint_directory.h"
#include "backend/runs/run_store.h"

namespace millrace::agent {

struct SurveyOrder {
    std::string runId, streamHash;
    std::int64_t fromStep = values::kFromLast;  ///< or kFromStart, or the step of a checkpoint
    std::int64_t keep = 3;  ///< files of no daemon's time that are worth reading
};

/// What an attempt starts from.
struct Survey {
    Status status;                                 ///< why it cannot start
    std::optional<runs::CheckpointRecord> chosen;  ///< nothing: from step 0
    std::string path;                              ///< of the chosen one
    std::vector<std::string> events;               ///< for the run's history
    std::optional<runs::CountedSpec> counted;      ///< what was counted instead, and is stored
};

class CheckpointCatalogue {
 public:
    /// `store` outlives it.
    CheckpointCatalogue(runs::RunStore& store, std::string runsDir)
        : store_(store), runsDir_(std::move(runsDir)) {}

    /// Looks through the directory while no worker of the run lives: registers checkpoints that the
    /// store does not know, sets damaged ones and those of a course left behind aside, and finds
    /// the one to start from. A run that had checkpoints and has none to go on from is an error.
    Survey survey(const SurveyOrder& order, const checkpoint::ReadWatch& watch) const;

    /// Registers a verified file that arrived from a node; it may become the best one. Idempotent.
    Status add(const std::string& runId, const checkpoint::CheckpointFacts& facts) const;
    /// Removes files that the store has `keep` newer checkpoints for, and of those that wait for a
    /// rank to end their step all but `keep` + 2, which stay spread over the steps.
    Status retain(const std::string& runId, std::int64_t keep) const;
    /// Renames what the newest attempt has left behind (NAME.void): a sentence for each.
    std::vector<std::string> setVoidAside(const std::string& runId) const;
    /// Whether `run` could be resumed from that step, kFromLast or kFromStart; why not.
    Status checkResume(const runs::RunRecord& run, std::int64_t step) const;
    /// Steps that an attempt could go on from, ascending: by names, nothing is read.
    Result<std::vector<std::int64_t>> steps(const std::string& runId) const;

 private:
    runs::RunStore& store_;
    const std::string runsDir_;
};

}  // namespace millrace::agent
