#pragma once
// A directory of this process's alone (0700) for sockets with short paths.
//
// Below the runtime directory where that leaves room for ssh's names of sockets (108 bytes, of
// which ssh takes 17 for a temporary one), else below /tmp. Those of processes that were killed are
// removed. Threads: any.
#include <string>

#include "backend/core/status.h"

namespace millrace::ssh {

Result<std::string> makePrivateDirectoryForSockets();

}  // namespace millrace::ssh
