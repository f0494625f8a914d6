#pragma once
// What the command line does about other hosts.
#include "app/cli/frame/command.h"

namespace millrace::cli {

/// `millrace host`; returns an exit code.
int runHost(CliContext& context, const ParsedArgs& args);

/// Starts the daemon of an ssh address, with --install from programs that are brought there.
/// Blocks until it serves. Failure: what millrace said there.
Status startThere(CliContext& context, const ParsedArgs& args, const Address& address);

}  // namespace millrace::cli
