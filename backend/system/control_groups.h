#pragma once
// The control groups that limit this process, of version 1 and 2.
//
// Threads: any. Failure: what cannot be read sets no limit.
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"

namespace millrace {

/// The places of control groups; tests use directories of their own.
struct ControlGroups {
    std::string proc = "/proc";            ///< contains self/cgroup
    std::string mount = "/sys/fs/cgroup";  ///< of version 2, or the parent of version 1's

    /// Directories of this process's groups for `controller` ("cpu", "memory"), and of all their
    /// ancestors: each one sets a limit. Includes directories that do not exist.
    std::vector<std::string> directoriesOf(std::string_view controller) const;
    /// The directory of this process's version 2 group, even if version 1 is mounted as well.
    /// kNotFound if version 2 is not mounted, or is not visible from a container.
    Result<std::string> ownOfVersion2() const;
};

}  // namespace millrace
