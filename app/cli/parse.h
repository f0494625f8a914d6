#pragma once
// Words of the command line -> a command and its checked arguments.
//
// Failure: kInvalidArgument with one sentence that names the word and, where near, what was meant.
#include <string>
#include <vector>

#include "app/cli/command.h"

namespace millrace::cli {

struct CommandLine {
    const CommandSpec* command = nullptr;  ///< none: help about everything
    bool wantsHelp = false;
    ParsedArgs args;
};

/// `words` without the program's name. Options that all commands share may stand before the
/// command.
Result<CommandLine> parseCommandLine(const std::vector<std::string>& words);

}  // namespace millrace::cli
