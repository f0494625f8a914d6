#pragma once
// The table of all commands. Help, completion, docs/reference/cli.md and parsing are generated from
// it. Threads: any.
#include <string_view>
#include <vector>

#include "app/cli/frame/command.h"

namespace millrace::cli {

/// All commands in the order of the help.
const std::vector<CommandSpec>& commandTable();
const CommandSpec* findCommand(std::string_view name);
/// A command's own options and the general ones that apply to it.
std::vector<options::OptionSpec> optionsOf(const CommandSpec& command);

}  // namespace millrace::cli
