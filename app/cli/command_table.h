#pragma once
// All commands of the command line: what help, completion, docs/reference/cli.md and parsing are
// made from. Threads: any.
#include <string_view>
#include <vector>

#include "app/cli/frame/command.h"

namespace millrace::cli {

/// All commands in the order of the help.
const std::vector<CommandSpec>& commandTable();
const CommandSpec* findCommand(std::string_view name);
/// The options that every command takes, as far as they apply to it.
std::vector<options::OptionSpec> optionsOf(const CommandSpec& command);

}  // namespace millrace::cli
