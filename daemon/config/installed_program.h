#pragma once
// Replaces this process by the program that an upgrade has installed where it was started from.
// Used by agents that their head refuses for their build.
//
// Threads: call when all others have ended (it execs). Failure: it returns.
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/daemon_config.h"

namespace millrace::config {

/// If the `millraced` there is of another build than this one (`build`), executes it in this
/// process, with the same `arguments`, in the foreground and with the same log. Returns if it is
/// not, or if that fails.
void becomeInstalled(const DaemonConfig& config, std::vector<std::string> arguments,
                     std::string_view build);

}  // namespace millrace::config
