#pragma once
// Lists the hosts that a user has named in an ssh configuration, to offer them as choices.
//
// Names of Host lines without patterns, in their order and each once, included files as well
// (ssh_config(5)); Match blocks and patterns are left to ssh. Threads: any. Failure: none; a file
// that cannot be read has no names.
#include <string>
#include <vector>

namespace millrace::ssh {

/// `file`: "" is ~/.ssh/config.
std::vector<std::string> hostsOfConfig(const std::string& file);

}  // namespace millrace::ssh
