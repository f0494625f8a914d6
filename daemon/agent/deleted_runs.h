#pragma once
// DeletedRuns: measures and frees the disk space of deleted runs. It frees a run at once on
// request, and checkpoints by itself after a time. That time must have passed by the wall clock. In
// addition daemons must have run for at least a day of it (or all of it if it is shorter), so a
// clock that jumps ahead frees nothing.
//
// Threads: any; two threads that free one run do no harm. Owns: its thread ("janitor") once start()
// was called. Failure: the error names a file that cannot be removed; the next sweep removes the
// rest.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "backend/core/clock.h"
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

    /// Sweeps now and every hour. Each sweep, and the end of this object, adds the time since the
    /// last one to the running time in the store.
    void start();
    /// Bytes of a run's files.
    std::uint64_t bytesOf(const std::string& id) const;
    /// Frees a deleted run for good: metrics, plan and all files. Returns the bytes of its files.
    Result<std::uint64_t> purge(const std::string& id);
    /// Frees the checkpoints of runs that were deleted long ago, and files that an interrupted
    /// purge left. Returns the bytes.
    std::uint64_t sweep();
    std::chrono::hours keep() const { return keep_; }

 private:
    void loop(const std::stop_token& stop);
    void addRunningTime();
    std::uint64_t freeCheckpoints(const std::string& id);
    std::uint64_t finishPurges();

    const std::string runsDir_;
    runs::RunStore& store_;
    const Clock& clock_;
    const std::chrono::hours keep_;
    std::atomic<std::int64_t> countedNs_;  // steady: the store's running time is counted up to here
    std::jthread thread_;
};

}  // namespace millrace::agent
