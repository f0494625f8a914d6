#pragma once
// DeletedRuns: what deleted runs take on the disk, and freeing it: at once on request, the
// checkpoints by themselves after a time.
//
// Threads: any; two that free one run do no harm. Owns: its thread ("janitor") once start() was
// called. Failure: a file that cannot be removed is named; what is left is removed by the next
// sweep.
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/runs/run_store.h"
#include "daemon/agent/run/run_directory.h"

namespace millrace::agent {

class DeletedRuns {
 public:
    /// `keep`: how long a deleted run keeps its checkpoints. `store` and `clock` outlive it.
    DeletedRuns(std::string runsDir, runs::RunStore& store, const Clock& clock,
                std::chrono::hours keep)
        : runsDir_(std::move(runsDir)), store_(store), clock_(clock), keep_(keep) {}
    ~DeletedRuns();

    /// Sweeps now and every hour.
    void start();
    /// Bytes of a run's files.
    std::uint64_t bytesOf(const std::string& id) const;
    /// Frees a deleted run for good: points, plan and all files. Returns the files' bytes.
    Result<std::uint64_t> purge(const std::string& id);
    /// Frees the checkpoints of runs that were deleted long ago, and files that a purge left when
    /// the daemon ended in the middle of it. Returns the bytes.
    std::uint64_t sweep();
    std::chrono::hours keep() const { return keep_; }

 private:
    void loop(std::stop_token stop);
    std::uint64_t freeCheckpoints(const std::string& id);
    std::uint64_t finishPurges();

    const std::string runsDir_;
    runs::RunStore& store_;
    const Clock& clock_;
    const std::chrono::hours keep_;
    Mutex mutex_;
    CondVar wake_;
    bool isEnding_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace millrace::agent
