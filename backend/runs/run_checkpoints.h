#pragma once
// RunCheckpoints: the checkpoints that a run's workers told of, and what became of their files.
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

    /// Those that an attempt may go on from, newest step first; `withRest`: also those that none
    /// does any more, and those that wait for a rank to end their step.
    Result<std::vector<CheckpointRecord>> checkpoints(std::string_view id,
                                                      bool withRest = false) const;
    /// Stores a checkpoint whose file arrived from a node. Idempotent. kFailedPrecondition: a later
    /// attempt of the run has started.
    Status addCheckpoint(std::string_view id, const CheckpointRecord& checkpoint);
    /// Files that were found in the directory, whose steps all ranks have ended, and the names that
    /// were not, in one transaction.
    Status reconcileCheckpoints(std::string_view id, const std::vector<CheckpointRecord>& found,
                                const std::vector<std::string>& gone);

    /// Says of a deleted run's checkpoints that their files go; refused of one that was restored.
    Status dropCheckpoints(std::string_view id);

 private:
    StoreFile& file_;
};

/// Adds a checkpoint or takes the place of the one at its step, inside the caller's transaction.
Status writeCheckpoint(Database& db, std::int64_t runNo, int attempt, const CheckpointRecord& c);

}  // namespace millrace::runs
