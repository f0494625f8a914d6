#pragma once
// The nodes of a daemon on this machine: agents beside it, for trying and for tests.
//
// Threads: the command's own. Failure: as an exit code, with a sentence on stderr.
#include "app/cli/commands.h"

namespace millrace::cli {

/// Of `up --nodes`, the daemon's own among them.
inline constexpr int kNodesMost = 64;

/// Starts the agents that `up --nodes N` asks for and that are not there, and waits until the
/// daemon has them.
int startNodes(CliContext& context, const ParsedArgs& args, const Address& address,
               const values::DaemonStatus& daemon);

}  // namespace millrace::cli
