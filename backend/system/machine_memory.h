#pragma once
// How much memory the processes of this machine may have at most.
//
// Threads: any. Failure: what cannot be read does not limit.
#include <cstdint>

#include "backend/system/control_groups.h"

namespace millrace {

/// Bytes: the machine's, or the least limit of the control groups that this process is in.
std::int64_t machineMemory();

/// The same by these groups, of a machine with that many bytes.
std::int64_t machineMemory(const ControlGroups& groups, std::int64_t physical);

}  // namespace millrace
