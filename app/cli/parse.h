#pragma once
// Parses the words of the command line into a command and its checked arguments.
//
// Failure: kInvalidArgument with one sentence that names the word and, if one is near, a
// suggestion.
#include <string>
#include <vector>

#include "app/cli/command_table.h"

namespace millrace::cli {

struct CommandLine {
    const CommandSpec* command = nullptr;  ///< null: help about everything
    bool wantsHelp = false;
    ParsedArgs args;
};

/// The sentence for an unknown command, with the nearest one.
Status unknownCommand(const std::string& word);

/// `words` without the program's name. Options that all commands share may precede the command.
Result<CommandLine> parseCommandLine(const std::vector<std::string>& words);

}  // namespace millrace::cli
