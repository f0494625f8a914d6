#pragma once
// The command line's entry point: takes words, writes output and returns an exit code.
//
// Threads: one. Failure: never throws; an error is one sentence on context.err and an exit code.
#include <string>
#include <vector>

#include "app/cli/frame/context.h"

namespace millrace::cli {

/// `words` without the program's name. Sets context.terminal's colours from --color.
int runCli(CliContext& context, const std::vector<std::string>& words);

}  // namespace millrace::cli
