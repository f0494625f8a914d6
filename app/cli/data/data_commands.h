#pragma once
// The commands for specs and data: they run millrace-loader as a child process and need no daemon.
// Each returns an exit code.
#include "app/cli/frame/command.h"

namespace millrace::cli {

Result<int> runCheck(CliContext& context, const ParsedArgs& args);
Result<int> runStream(CliContext& context, const ParsedArgs& args);
Result<int> runCount(CliContext& context, const ParsedArgs& args);
Result<int> runSample(CliContext& context, const ParsedArgs& args);
Result<int> runDataset(CliContext& context, const ParsedArgs& args);
Result<int> runHead(CliContext& context, const ParsedArgs& args);
Result<int> runPreview(CliContext& context, const ParsedArgs& args);
Result<int> runInit(CliContext& context, const ParsedArgs& args);

}  // namespace millrace::cli
