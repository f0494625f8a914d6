#pragma once
// LockHolder: what a lock file records about the process that holds it: one line of JSON. The line
// is padded, so that each write has the same length and needs no new space on a full disk. Used by
// InstanceLock and StateLock.
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
    std::int64_t beat = 0;                ///< grows by one with each sign of life

    static LockHolder ofThisProcess(PidScope here);
    /// Returns nullopt if the file is free or contains something else.
    static std::optional<LockHolder> read(int fd);
    Status write(int fd, const std::string& path) const;
    /// Marks the file as free.
    static Status clear(int fd, const std::string& path);

    /// Returns whether it is the same process, whatever its last sign of life.
    bool isSameAs(const LockHolder& other) const;
    /// Valid only for a holder with a pid that is visible from here.
    bool isAlive() const;
    /// Waits until the process has ended, at most for `patience`. Valid only as isAlive() is.
    void awaitEnd(std::chrono::milliseconds patience) const;
    /// "process 17 on gpu-1"
    std::string text() const;
};

}  // namespace millrace::config
