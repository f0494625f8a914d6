#pragma once
// Number of cores that this machine's processes may use at once.
//
// Threads: any. Failure: what cannot be read sets no limit.
#include "backend/system/control_groups.h"

namespace millrace {

/// The cores on which this process may run, or fewer: the whole cores that the CPU quotas of its
/// control groups allow; at least 1.
int machineCores();

/// The same for these groups, and a process that may run on `allowed` cores.
int machineCores(const ControlGroups& groups, int allowed);

}  // namespace millrace
