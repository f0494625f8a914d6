#pragma once
// The commands for specs and data: they run millrace-loader as a child process and need no daemon.
// Each returns an exit code.
#include "app/cli/frame/command.h"

namespace millrace::cli {

int runCheck(CliContext& context, const ParsedArgs& args);
int runStream(CliContext& context, const ParsedArgs& args);
int runCount(CliContext& context, const ParsedArgs& args);
int runSample(CliContext& context, const ParsedArgs& args);
int runDataset(CliContext& context, const ParsedArgs& args);
int runHead(CliContext& context, const ParsedArgs& args);
int runPreview(CliContext& context, const ParsedArgs& args);
int runInit(CliContext& context, const ParsedArgs& args);

}  // namespace millrace::cli
