#pragma once
// Upper limit of the memory of this machine's processes.
//
// Threads: any. Failure: what cannot be read sets no limit.
#include <cstdint>

#include "backend/system/control_groups.h"

namespace millrace {

/// Bytes: the machine's memory, or the lowest limit of this process's control groups.
std::int64_t machineMemory();

/// The same for these groups, and a machine with `physical` bytes.
std::int64_t machineMemory(const ControlGroups& groups, std::int64_t physical);

}  // namespace millrace
