#pragma once
// One daemon for a socket: a lock file that a dead process gives back.
//
// Owns: the lock (flock on a file that stays); the destructor releases it. Failure:
// kAlreadyExists with one sentence that names the other daemon's process.
#include <chrono>
#include <string>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "backend/system/pid_scope.h"

namespace millrace::config {

/// What a lock is for, and who asks for it.
struct LockTerms {
    std::string what;                      ///< "the socket /run/...", for sentences
    PidScope here;                         ///< of this process
    std::chrono::milliseconds patience{};  ///< waits so long for a holder that is about to end
};

/// Opens the file, making it where there is none, and takes its flock.
Result<UniqueFd> lockFile(const std::string& path, const LockTerms& terms);

class InstanceLock {
 public:
    static Result<InstanceLock> take(const std::string& path, const LockTerms& terms);

 private:
    explicit InstanceLock(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

}  // namespace millrace::config
