#pragma once
// One daemon a socket and one a state directory: lock files that a dead process gives back.
//
// Owns: the lock (flock on a file that stays); the destructor releases it. Failure:
// kAlreadyExists with one sentence that names the other daemon's process.
#include <chrono>
#include <string>

#include "backend/core/status.h"
#include "backend/core/unique_fd.h"
#include "daemon/config/daemon_config.h"

namespace millrace::config {

class InstanceLock {
 public:
    /// `what` names the thing that has one daemon: "the socket /run/...". `patience`: how long the
    /// end of another process that has it is waited for.
    static Result<InstanceLock> take(const std::string& path, const std::string& what,
                                     std::chrono::milliseconds patience = {});

 private:
    explicit InstanceLock(UniqueFd fd) : fd_(std::move(fd)) {}
    UniqueFd fd_;
};

/// The directories that a daemon needs and its two locks.
struct Premises {
    InstanceLock state;
    InstanceLock socket;
};

/// The same of the agent of a node, which listens nowhere: its state directory and the lock of it.
Result<InstanceLock> takeStateDirectory(const DaemonConfig& config);

/// Makes and checks the state directory (0700) and, for a unix socket, the directory it stands in
/// (made 0700; the default one must be private), and takes both locks. A daemon that was told to go
/// down no longer answers some time before its process ends: it is waited for.
Result<Premises> takePremises(const DaemonConfig& config);

}  // namespace millrace::config
