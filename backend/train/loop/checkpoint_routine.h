#pragma once
// When a rank that writes checkpoints does so, and what it tells of them.
//
// One that is needed is there when cut() returns; one on the way may be written while training goes
// on, and is told of when it has ended. Threads: one owner. Failure: of a needed one; another one
// that was not written is trouble that the reporter is told, and the older ones stay.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/train/loop/checkpoint_writer.h"
#include "backend/train/reporter.h"

namespace millrace::train {

struct CheckpointOptions {
    std::int64_t everySteps = 0;  ///< 0: only at the end
    std::int64_t keep = 3;        ///< that the daemon keeps: more unacknowledged are thinned
    std::string directory;
    bool isCopied = false;  ///< written from a copy while training goes on; else it waits
};

class CheckpointRoutine {
 public:
    /// Both outlive it.
    CheckpointRoutine(const CheckpointOptions& options, Reporter& reporter)
        : options_(options), reporter_(reporter) {}

    /// A step's is tried, by all ranks alike.
    void begin(std::int64_t step) { lastStep_ = step; }
    bool hasBegun(std::int64_t step) const { return lastStep_ == step; }
    /// `isThinned`: fewer are due while the daemon does not answer.
    bool isDue(std::int64_t step, bool isThinned) const;
    Status cut(CheckpointOrder order, const std::vector<TensorRef>& tensors, bool isNeeded);
    /// Tells of the one that is written beside the training: when it has ended, or `waits` for it.
    Status settle(bool waits);

 private:
    Status tell(const CheckpointWriter::Outcome& outcome);

    const CheckpointOptions& options_;
    Reporter& reporter_;
    CheckpointWriter writer_;
    std::int64_t lastStep_ = 0;
};

}  // namespace millrace::train
