#pragma once
// Decides when a rank writes checkpoints, writes them, and reports them.
//
// A needed checkpoint exists when cut() returns. Any other one may be written while training
// continues; it is reported once it is written. Threads: one owner. Failure: cut() fails only for a
// needed checkpoint; any other that could not be written is reported as trouble, and the older ones
// stay.
#include <cstdint>
#include <string>
#include <vector>

#include "backend/train/loop/checkpoint_writer.h"
#include "backend/train/reporter.h"

namespace millrace::train {

struct CheckpointOptions {
    std::int64_t everySteps = 0;  ///< 0: only at the end
    std::int64_t keep = 3;        ///< checkpoints that the daemon keeps; beyond that,
                                  ///< unacknowledged ones are thinned
    std::string directory;
    bool isCopied = false;  ///< written from a copy while training continues; else training waits
};

class CheckpointRoutine {
 public:
    /// Both references outlive it.
    CheckpointRoutine(const CheckpointOptions& options, Reporter& reporter)
        : options_(options), reporter_(reporter) {}

    /// Marks the checkpoint of `step` as tried; all ranks call it alike.
    void begin(std::int64_t step) { lastStep_ = step; }
    bool hasBegun(std::int64_t step) const { return lastStep_ == step; }
    /// `isThinned`: makes checkpoints rarer while the daemon does not answer.
    bool isDue(std::int64_t step, bool isThinned) const;
    Status cut(CheckpointOrder order, const std::vector<TensorRef>& tensors, bool isNeeded);
    /// Reports the background checkpoint once it is written; `waits`: blocks until then.
    Status settle(bool waits);

 private:
    Status tell(const CheckpointWriter::Outcome& outcome);

    const CheckpointOptions& options_;
    Reporter& reporter_;
    CheckpointWriter writer_;
    std::int64_t lastStep_ = 0;
};

}  // namespace millrace::train
