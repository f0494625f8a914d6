#pragma once
// The commands that work on other hosts.
#include "app/cli/frame/command.h"

namespace millrace::cli {

/// `millrace host`; returns an exit code.
CommandFunction runHost;

/// Starts the daemon of an ssh address, with --install from programs that are copied there first.
/// Blocks until it serves. Failure: millrace's message from there.
Status startThere(CliContext& context, const ParsedArgs& args, const Address& address);

/// Starts the agent of node `name` at an ssh address, for the daemon whose join file has this text;
/// the file is stored there, for its user only. Failure: millraced's message from there.
Status startAgentThere(CliContext& context, const Address& address, const std::string& name,
                       const std::string& joinFile);

}  // namespace millrace::cli
