#pragma once
// The hosts that a user has named in an ssh configuration, to be offered.
//
// Names of Host lines without patterns, also of files that it includes (ssh_config(5)), each once,
// in their order; what Match blocks and patterns stand for is ssh's own affair. Threads: any.
// Failure: none; a file that cannot be read has no names.
#include <string>
#include <vector>

namespace millrace::ssh {

/// `file`: "" is ~/.ssh/config.
std::vector<std::string> hostsOfConfig(const std::string& file);

}  // namespace millrace::ssh
