#pragma once
// Writes a run's checkpoints in the background of training: one at a time, from a copy in reused
// memory.
//
// Threads: one owner; a write has a thread of its own, which ends with it or with this object.
// Owns: the copy, as large as the largest checkpoint so far, from the first begin() on. Failure: a
// write's failure is in its outcome.
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/train/checkpoint.h"

namespace millrace::train {

/// A checkpoint to write.
struct CheckpointOrder {
    std::string directory;
    checkpoint::CheckpointName name;
    Json meta;
    std::string state;    ///< the feed's, for the report of the checkpoint
    bool isBest = false;  ///< it also gets the name checkpoint::kBestName
};

class CheckpointWriter {
 public:
    struct Outcome {
        CheckpointOrder order;
        Result<CheckpointFile> file;
    };

    CheckpointWriter() = default;
    ~CheckpointWriter();
    CheckpointWriter(const CheckpointWriter&) = delete;
    CheckpointWriter& operator=(const CheckpointWriter&) = delete;

    /// Writes the checkpoint before it returns; reads `tensors` without a copy.
    static Outcome write(CheckpointOrder order, const std::vector<TensorRef>& tensors);
    /// Returns once `tensors` are copied. Call it only after the previous outcome was taken.
    void begin(CheckpointOrder order, const std::vector<TensorRef>& tensors);
    /// The outcome of begin(), once; nothing while the write is running or if there was none.
    std::optional<Outcome> takeEnded() { return hasEnded_ ? wait() : std::nullopt; }
    /// Waits for the write, then returns its outcome as takeEnded() does.
    std::optional<Outcome> wait();

 private:
    std::vector<TensorRef> copied(const std::vector<TensorRef>& tensors);

    std::unique_ptr<std::byte[]> kept_;
    std::size_t keptBytes_ = 0;
    std::optional<Outcome> outcome_;  ///< written by the thread until hasEnded_ is set
    std::atomic<bool> hasEnded_{false};
    std::jthread thread_;
};

}  // namespace millrace::train
