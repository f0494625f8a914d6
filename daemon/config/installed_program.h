#pragma once
// The program that is installed where this one was started from, after an upgrade under it.
//
// Threads: to be used when all others have ended (it execs). Failure: it returns.
#include <string>
#include <string_view>
#include <vector>

#include "daemon/config/daemon_config.h"

namespace millrace::config {

/// Where `millraced` is of another build there than this one (`build`), it takes this process over,
/// with the same `arguments`, in the foreground and with the same log. Returns where it is not, or
/// cannot.
void becomeInstalled(const DaemonConfig& config, std::vector<std::string> arguments,
                     std::string_view build);

}  // namespace millrace::config
