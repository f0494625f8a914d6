#pragma once
// RunCheckpoints: the checkpoints that a run's workers reported, and the state of their files.
//
// Threads: any. Failure: as of RunStore.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"

namespace millrace::runs {

class StoreFile;

class Database;

class RunCheckpoints {
 public:
    explicit RunCheckpoints(StoreFile& file) : file_(file) {}

    /// Checkpoints from which an attempt may resume, newest step first. `withRest`: also those from
    /// which none may resume any more, and those that wait for a rank to end their step.
    Result<std::vector<CheckpointRecord>> checkpoints(std::string_view id,
                                                      bool withRest = false) const;
    /// Stores a checkpoint whose file arrived from a node. Idempotent. kFailedPrecondition: a later
    /// attempt of the run has started.
    Status addCheckpoint(std::string_view id, const CheckpointRecord& checkpoint);
    /// Stores, in one transaction, files that were found in the directory, whose steps all ranks
    /// have ended, and drops those named in `gone`, which were not found.
    Status reconcileCheckpoints(std::string_view id, const std::vector<CheckpointRecord>& found,
                                const std::vector<std::string>& gone);

    /// Marks the files of a deleted run's checkpoints as gone; rejected if the run was restored.
    Status dropCheckpoints(std::string_view id);

 private:
    StoreFile& file_;
};

/// Adds a checkpoint, or replaces the one at its step, inside the caller's transaction.
Status writeCheckpoint(Database& db, std::int64_t runNo, int attempt, const CheckpointRecord& c);

}  // namespace millrace::runs
