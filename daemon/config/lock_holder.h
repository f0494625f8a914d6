#pragma once
// What a lock file says about the process that holds it: one line of JSON, padded, so that each
// write is of the same bytes and needs no new room on a full disk.
//
// Threads: any.
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "backend/core/status.h"
#include "backend/system/pid_scope.h"

namespace millrace::config {

struct LockHolder {
    PidScope scope;
    std::int64_t pid = 0, startTime = 0;  ///< as processStartTime()
    std::int64_t beat = 0;                ///< one more with each sign of life

    static LockHolder ofThisProcess(PidScope here);
    /// Nothing when the file is free, or holds something else. Of a line of an older version only
    /// the pid is known.
    static std::optional<LockHolder> read(int fd);
    Status write(int fd, const std::string& path) const;
    /// Marks the file as free.
    static Status clear(int fd, const std::string& path);

    /// The same process, whatever its last sign of life.
    bool isSameAs(const LockHolder& other) const;
    /// Only of a holder whose pid is in reach.
    bool isAlive() const;
    /// Waits until the process has ended, at most for `patience`. The same holds.
    void awaitEnd(std::chrono::milliseconds patience) const;
    /// "process 17 on gpu-1"
    std::string text() const;
};

}  // namespace millrace::config
