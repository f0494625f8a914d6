#pragma once
// How much memory the processes of this machine may have at most.
//
// Threads: any. Failure: what cannot be read does not limit.
#include <cstdint>
#include <string>

namespace millrace {

/// Bytes: the machine's, or the least limit of the control groups that this process is in.
std::int64_t machineMemory();

/// The same from other places, for tests: `proc` has self/cgroup, `groups` is where the hierarchy
/// is mounted, `physical` the machine's bytes.
std::int64_t machineMemory(const std::string& proc, const std::string& groups,
                           std::int64_t physical);

}  // namespace millrace
