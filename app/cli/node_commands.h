#pragma once
// The commands for a daemon's nodes: agents beside it on this machine (`up --nodes`, for trials and
// tests) and on other hosts (`up --hosts`).
//
// Threads: the command's own. Failure: as an exit code, with a sentence on stderr.
#include <string>
#include <vector>

#include "app/cli/commands.h"

namespace millrace::cli {

/// For `up --nodes`, including the daemon's own node.
inline constexpr int kNodesMost = 64;

/// The daemon's arguments that announce the agents of `up`.
Result<std::vector<std::string>> nodesArguments(const ParsedArgs& args);
/// Starts the missing agents that `up` asks for, and waits until the daemon has them.
Result<int> startNodes(CliContext& context, const ParsedArgs& args, const Address& address,
                       const values::DaemonStatus& daemon);

}  // namespace millrace::cli
