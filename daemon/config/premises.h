#pragma once
// What a daemon must have to itself before it serves: its state directory and its socket.
//
// Failure: kAlreadyExists names the process that has one of them; kPermissionDenied a directory
// that is open to others.
#include "daemon/config/daemon_config.h"
#include "daemon/config/instance_lock.h"
#include "daemon/config/state_lock.h"

namespace millrace::config {

struct Premises {
    StateLock state;
    InstanceLock socket;
};

/// The same of the agent of a node, which listens nowhere: its state directory and the lock of it.
Result<StateLock> takeStateDirectory(const DaemonConfig& config);

/// Makes and checks the state directory (0700) and, for a unix socket, the directory it stands in
/// (made 0700; the default one must be private), and takes both locks. A daemon that was told to go
/// down no longer answers some time before its process ends: it is waited for.
Result<Premises> takePremises(const DaemonConfig& config);

}  // namespace millrace::config
