#pragma once
// What a daemon must have to itself before it serves: its state directory and its socket.
//
// Failure: kAlreadyExists names the process that has one of them; kPermissionDenied a directory
// that is open to others; kFailedPrecondition checkpoints that have no place.
#include "daemon/config/daemon_config.h"
#include "daemon/config/instance_lock.h"
#include "daemon/config/state_lock.h"

namespace millrace::config {

struct Premises {
    StateLock state;
    InstanceLock socket;
};

/// The same of the agent of a node, which listens nowhere: its state directory and the lock of it.
/// A directory that a bound agent makes here is its allocation's, until an unbound one serves it.
Result<StateLock> takeStateDirectory(const DaemonConfig& config);

/// Removes what agents keep in a directory that a bound agent made, and the directory where nothing
/// else is in it; any other stays as it is. `keepsLog`: but for the log, which says why the agent
/// ended. Call it when no worker is left, before the lock is given back.
Status removeOwnDirectory(const DaemonConfig& config, bool keepsLog);

/// Makes and checks the state directory (0700) and, for a unix socket, the directory it stands in
/// (made 0700; the default one must be private), makes and checks the one for checkpoints that
/// the configuration names, and takes both locks. A daemon that was told to go
/// down no longer answers some time before its process ends: it is waited for.
Result<Premises> takePremises(const DaemonConfig& config);

}  // namespace millrace::config
