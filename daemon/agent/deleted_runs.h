#pragma once
// DeletedRuns: what deleted runs take on the disk, and freeing it: at once on request, the
// checkpoints by themselves after a time. That time must have passed by the wall clock, and at
// least a day of it (or all of it, where it is shorter) must be time in which daemons ran: a clock
// that jumps ahead frees nothing.
//
// Threads: any; two that free one run do no harm. Owns: its thread ("janitor") once start() was
// called. Failure: a file that cannot be removed is named; what is left is removed by the next
// sweep.
#include <atomic>
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
        : runsDir_(std::move(runsDir)),
          store_(store),
          clock_(clock),
          keep_(keep),
          countedNs_(clock.steadyNs()) {}
    ~DeletedRuns();

    /// Sweeps now and every hour. The time until the last hour's end, or its own end, is added to
    /// the store's.
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
    void addRunningTime();
    std::uint64_t freeCheckpoints(const std::string& id);
    std::uint64_t finishPurges();

    const std::string runsDir_;
    runs::RunStore& store_;
    const Clock& clock_;
    const std::chrono::hours keep_;
    std::atomic<std::int64_t> countedNs_;  // steady: the store's running time goes up to here
    Mutex mutex_;
    CondVar wake_;
    bool isEnding_ MR_GUARDED_BY(mutex_) = false;
    std::jthread thread_;
};

}  // namespace millrace::agent
