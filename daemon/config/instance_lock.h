#pragma once
// InstanceLock: allows one daemon per socket, with a lock file that a dead process releases. Used
// by takeDaemonLocks().
//
// Owns: the lock (flock on a file that stays); the destructor releases it. Failure: kAlreadyExists
// with one sentence that names the other daemon's process.
#include <chrono>
#include <string>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/system/pid_scope.h"

namespace millrace::config {

/// The purpose of a lock, and the process that requests it.
struct LockTerms {
    std::string what;                      ///< "the socket /run/...", for sentences
    PidScope here;                         ///< of this process
    std::chrono::milliseconds patience{};  ///< how long to wait for a holder that is about to end
};

/// Opens the file, creating it if it does not exist, and takes its flock.
Result<UniqueFd> lockFile(const std::string& path, const LockTerms& terms);

class InstanceLock {
 public:
    static Result<InstanceLock> take(const std::string& path, const LockTerms& terms);

 private:
    explicit InstanceLock(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

}  // namespace millrace::config
