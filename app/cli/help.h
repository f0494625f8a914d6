#pragma once
// Texts generated from the command table: help, the Markdown reference, completion scripts.
#include <string>

#include "app/cli/command_table.h"

namespace millrace::cli {

std::string generalHelp(const Terminal& terminal);
std::string commandHelp(const CommandSpec& command, const Terminal& terminal);
/// docs/reference/cli.md
std::string markdownReference();
/// kInvalidArgument for an unknown shell.
Result<std::string> completionScript(const std::string& shell);

}  // namespace millrace::cli
