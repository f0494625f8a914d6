#pragma once
// DaemonLocks: what a daemon must have exclusively before it serves: its state directory and its
// socket. Used by main().
//
// Failure: kAlreadyExists names the process that has one of them; kPermissionDenied names a
// directory that others can access; kFailedPrecondition: the directory for checkpoints cannot be
// used.
#include "daemon/config/daemon_config.h"
#include "daemon/config/instance_lock.h"
#include "daemon/config/state_lock.h"

namespace millrace::config {

struct DaemonLocks {
    StateLock state;
    InstanceLock socket;
};

/// The same for the agent of a node, which has no listener: takes its state directory and locks it.
/// A directory that a bound agent creates belongs to its allocation, until an unbound agent serves
/// it.
Result<StateLock> takeStateDirectory(const DaemonConfig& config);

/// Removes an agent's files from a directory that a bound agent made, and the directory if it is
/// then empty; leaves any other directory alone. `keepsLog`: keeps the log, which explains why the
/// agent ended. Call it when no worker is left, before the lock is released.
Status removeOwnDirectory(const DaemonConfig& config, bool keepsLog);

/// Creates and checks the state directory (0700), the directory of a unix socket (created 0700; the
/// default one must be private) and the configured directory for checkpoints, and takes both locks.
/// A daemon that was told to go down stops answering some time before its process ends: this waits
/// for its end.
Result<DaemonLocks> takeDaemonLocks(const DaemonConfig& config);

}  // namespace millrace::config
