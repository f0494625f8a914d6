#pragma once
// The control groups that limit this process, of version 1 and 2.
//
// Threads: any. Failure: what cannot be read does not limit.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace {

/// Where they are read: tests have directories of their own.
struct ControlGroups {
    std::string proc = "/proc";            ///< has self/cgroup
    std::string mount = "/sys/fs/cgroup";  ///< of version 2, or the parent of version 1's

    /// Directories of the groups of `controller` ("cpu", "memory") that this process is in, and of
    /// all above them: each limits it. One that is not there is in the list all the same.
    std::vector<std::string> directoriesOf(std::string_view controller) const;
    /// The directory of the group of version 2 that this process is in, also beside version 1's.
    /// kNotFound where none is mounted, or it cannot be seen from a container.
    Result<std::string> ownOfVersion2() const;
};

}  // namespace millrace
