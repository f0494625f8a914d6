#pragma once
// Makes a directory for this process alone (0700), for sockets with short paths.
//
// It is below the runtime directory if that leaves room for ssh's socket names (108 bytes, of which
// ssh takes 17 for a temporary one), else below /tmp. Directories of killed processes are removed.
// Threads: any.
#include <string>

#include "backend/core/status.h"

namespace millrace::ssh {

Result<std::string> makePrivateDirectoryForSockets();

}  // namespace millrace::ssh
