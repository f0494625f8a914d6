#pragma once
// How many cores the processes of this machine may use at once.
//
// Threads: any. Failure: what cannot be read does not limit.
#include "backend/system/control_groups.h"

namespace millrace {

/// Those that this process may run on, or fewer: as many whole ones as the CPU quotas of its
/// control groups are worth; at least 1.
int machineCores();

/// The same by these groups, of a process that may run on `allowed` cores.
int machineCores(const ControlGroups& groups, int allowed);

}  // namespace millrace
