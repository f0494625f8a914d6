#pragma once
// The nodes of a daemon: agents beside it on this machine (`up --nodes`, for trying and for tests)
// and on other hosts (`up --hosts`).
//
// Threads: the command's own. Failure: as an exit code, with a sentence on stderr.
#include <string>
#include <vector>

#include "app/cli/commands.h"

namespace millrace::cli {

/// Of `up --nodes`, the daemon's own among them.
inline constexpr int kNodesMost = 64;

/// What `up` tells the daemon of agents that are to come.
Result<std::vector<std::string>> nodesArguments(const ParsedArgs& args);
/// Starts the agents that `up` asks for and that are not there, and waits until the daemon has
/// them.
int startNodes(CliContext& context, const ParsedArgs& args, const Address& address,
               const values::DaemonStatus& daemon);

}  // namespace millrace::cli
