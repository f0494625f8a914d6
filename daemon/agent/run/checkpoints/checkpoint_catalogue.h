#pragma once
// CheckpointCatalogue: which checkpoints a run has. It is the only owner of their files. Used by
// Head, RunController and Preparation.
//
// The store knows the run's course and which steps all ranks have ended; the directory has the
// files. A scan at an attempt's start reconciles the two. "Does not exist" and "cannot be read"
// are different answers: the first is a fact about the run, the second stops the attempt and
// changes nothing. Files are removed only while the store has newer ones; files that no attempt may
// resume from are renamed, not removed. Threads: any, one call for a run at a time; a scan reads
// whole files and must not run on the agent's thread. Failure: a scan's `status`; nothing here
// throws.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/checkpoint/checkpoint_directory.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/crew/gang.h"

namespace millrace::agent {

struct CheckpointScanRequest {
    std::string runId, streamHash;
    std::int64_t fromStep = values::kFromLast;  ///< or kFromStart, or the step of a checkpoint
    std::int64_t keep = 3;                      ///< number of files to read and register
};

/// The checkpoint that an attempt starts from, or why it cannot start.
struct CheckpointScan {
    Status status;                                 ///< why it cannot start
    std::optional<runs::CheckpointRecord> chosen;  ///< nothing: starts from step 0
    std::string path;                              ///< of the chosen checkpoint
    std::vector<std::string> events;               ///< for the run's history
    std::optional<runs::CountedSpec> counted;      ///< values that were counted, and are stored
    SharedSpec spec;                               ///< with these values
};

class CheckpointCatalogue {
 public:
    /// `store` outlives it.
    CheckpointCatalogue(runs::RunStore& store, std::string runsDir)
        : store_(store), runsDir_(std::move(runsDir)) {}

    /// Surveys the directory while no worker of the run lives. Registers checkpoints that the store
    /// does not know, sets aside damaged ones and those of a course left behind, and chooses the
    /// checkpoint to start from. It is an error if a run had checkpoints and has none to resume
    /// from.
    CheckpointScan scan(const CheckpointScanRequest& order,
                        const checkpoint::ReadWatch& watch) const;

    /// Registers a verified file that arrived from a node; it may become the best one. Idempotent.
    Status add(const std::string& runId, const checkpoint::CheckpointInfo& facts) const;
    /// Removes files for which the store has `keep` newer checkpoints. Keeps `keep` + 2 of those
    /// that wait for a rank to end their step, spread over the steps.
    Status retain(const std::string& runId, std::int64_t keep) const;
    /// Renames what the newest attempt has left behind (NAME.void). Returns a sentence for each.
    std::vector<std::string> setVoidAside(const std::string& runId) const;
    /// Returns whether `run` could be resumed from that step, kFromLast or kFromStart, or why not.
    Status checkResume(const runs::RunRecord& run, std::int64_t step) const;
    /// Steps from which an attempt could resume, ascending; found by file names, nothing is read.
    Result<std::vector<std::int64_t>> steps(const std::string& runId) const;

 private:
    runs::RunStore& store_;
    const std::string runsDir_;
};

}  // namespace millrace::agent
