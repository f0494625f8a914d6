#pragma once
// Control groups of version 2 that each hold the processes of one worker, so that all of them can
// be ended, whatever they did to their environment, their session or their parents.
//
// A guardian makes its worker's group below its own and removes it at the end; the engine ends what
// is in it when the guardian was killed. No controller is enabled in it, so it limits nothing.
//
// Threads: any; one at a time for each group. Failure: an error names the directory.
#include <string>
#include <string_view>

#include <sys/types.h>

#include "backend/core/status.h"
#include "backend/system/control_groups.h"

namespace millrace {

/// Returns the directory of this process's own group. Returns an error if the machine has no cgroup
/// v2, or if the group is not delegated to this user.
Result<std::string> delegatedGroup(const ControlGroups& groups = {});

/// Makes the group of the worker whose files are in `workerDirectory`, which names it: the same
/// directory has the same name. What is still in a group of that name gets SIGKILL.
Result<std::string> makeWorkerGroup(const std::string& workerDirectory,
                                    const ControlGroups& groups = {});

/// Moves the process, with all its threads, into the group. What it starts from then on is in it.
Status enterGroup(const std::string& group, pid_t pid);

/// Sends SIGKILL to all processes in the group and removes it once it is empty, if this process
/// may. Returns false while some have not ended yet: call it again.
bool endGroup(const std::string& group);

/// Removes the workers' groups in this process's own that nothing is in: what guardians left that
/// were killed and that no engine looked after.
void removeEmptyGroups(const std::string& own);

}  // namespace millrace
