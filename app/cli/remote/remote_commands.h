#pragma once
// What the command line does about other hosts.
#include "app/cli/frame/command.h"

namespace millrace::cli {

/// `millrace host`; returns an exit code.
int runHost(CliContext& context, const ParsedArgs& args);

/// Starts the daemon of an ssh address, with --install from programs that are brought there.
/// Blocks until it serves. Failure: what millrace said there.
Status startThere(CliContext& context, const ParsedArgs& args, const Address& address);

/// Starts the agent of node `name` at an ssh address, for a daemon whose join file has this text;
/// it is kept there, for its user alone. Failure: what millraced said there.
Status startAgentThere(CliContext& context, const Address& address, const std::string& name,
                       const std::string& joinFile);

}  // namespace millrace::cli
