#pragma once
// Version 2 control groups, one per worker, so that all of a worker's processes can be ended,
// whatever they did to their environment, session or parents.
//
// A guardian creates its worker's group below its own and removes it at the end; if the guardian
// was killed, the engine ends the group's processes. No controller is enabled in the group, so it
// limits nothing.
//
// Threads: any; one at a time for each group. Failure: an error names the directory.
#include <string>

#include <sys/types.h>

#include "backend/core/status.h"
#include "backend/system/control_groups.h"

namespace millrace {

/// Returns the directory of this process's own group. Returns an error if the machine has no cgroup
/// v2, or if the group is not delegated to this user.
Result<std::string> delegatedGroup(const ControlGroups& groups = {});

/// Creates the group of the worker with files in `workerDirectory`. The group's name depends on
/// that directory only. Processes left in a group of that name get SIGKILL.
Result<std::string> makeWorkerGroup(const std::string& workerDirectory,
                                    const ControlGroups& groups = {});

/// Moves the process, with all its threads, into the group. Processes that it starts later belong
/// to the group, too.
Status enterGroup(const std::string& group, pid_t pid);

/// Sends SIGKILL to all processes in the group and removes it once it is empty, if this process
/// may. Returns false while some have not ended yet: call it again.
bool endGroup(const std::string& group);

/// Removes empty workers' groups in this process's own group: remains of killed guardians that no
/// engine cleaned up.
void removeEmptyGroups(const std::string& own);

}  // namespace millrace
