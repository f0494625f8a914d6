#pragma once
// Words of the command line -> a command and its checked arguments.
//
// Failure: kInvalidArgument with one sentence that names the word and, where near, what was meant.
#include <string>
#include <vector>

#include "app/cli/command_table.h"

namespace millrace::cli {

struct CommandLine {
    const CommandSpec* command = nullptr;  ///< none: help about everything
    bool wantsHelp = false;
    ParsedArgs args;
};

/// The sentence for a command that there is not, with the nearest one.
Status unknownCommand(const std::string& word);

/// `words` without the program's name. Options that all commands share may stand before the
/// command.
Result<CommandLine> parseCommandLine(const std::vector<std::string>& words);

}  // namespace millrace::cli
