#pragma once
// Writes a run's checkpoints beside its training: one at a time, from a copy in kept memory.
//
// Threads: one owner; a write has a thread of its own, which ends with it or with this object.
// Owns: the copy, as large as the largest checkpoint so far, from the first begin() on. Failure: of
// a write, in its outcome.
#include <atomic>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "backend/train/checkpoint.h"

namespace millrace::train {

/// A checkpoint that is to be written.
struct CheckpointOrder {
    std::string directory;
    checkpoint::CheckpointName name;
    Json meta;
    std::string state;    ///< the feed's, for who tells of it
    bool isBest = false;  ///< it is to have the name checkpoint::kBestName too
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

    /// Writes it and returns when it is there; `tensors` are read where they lie.
    static Outcome write(CheckpointOrder order, const std::vector<TensorRef>& tensors);
    /// Returns when `tensors` are copied. To be called when all before was taken.
    void begin(CheckpointOrder order, const std::vector<TensorRef>& tensors);
    /// What became of begin()'s, once; nothing while it is being written or there was none.
    std::optional<Outcome> takeEnded();
    /// The same, and waits for it.
    std::optional<Outcome> wait();

 private:
    std::vector<TensorRef> copied(const std::vector<TensorRef>& tensors);

    std::unique_ptr<std::byte[]> kept_;
    std::size_t keptBytes_ = 0;
    std::optional<Outcome> outcome_;  ///< the thread's until hasEnded_
    std::atomic<bool> hasEnded_{false};
    std::jthread thread_;
};

}  // namespace millrace::train
