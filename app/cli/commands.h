#pragma once
// The command table's functions that need a daemon or no data. Each returns an exit code, or an
// error that is to be printed.
#include "app/cli/frame/command.h"

namespace millrace::cli {

Result<int> runUp(CliContext& context, const ParsedArgs& args);
Result<int> runDown(CliContext& context, const ParsedArgs& args);
Result<int> runDoctor(CliContext& context, const ParsedArgs& args);
Result<int> runSocketPath(CliContext& context, const ParsedArgs& args);
Result<int> runNodes(CliContext& context, const ParsedArgs& args);
Result<int> runVersion(CliContext& context, const ParsedArgs& args);
Result<int> runHelp(CliContext& context, const ParsedArgs& args);
Result<int> runCompletion(CliContext& context, const ParsedArgs& args);

Result<int> runSubmit(CliContext& context, const ParsedArgs& args);
Result<int> runWait(CliContext& context, const ParsedArgs& args);
Result<int> runResume(CliContext& context, const ParsedArgs& args);
Result<int> runStop(CliContext& context, const ParsedArgs& args);
Result<int> runRemove(CliContext& context, const ParsedArgs& args);

Result<int> runList(CliContext& context, const ParsedArgs& args);
Result<int> runShow(CliContext& context, const ParsedArgs& args);
Result<int> runCompare(CliContext& context, const ParsedArgs& args);
Result<int> runMetrics(CliContext& context, const ParsedArgs& args);

Result<int> runWatch(CliContext& context, const ParsedArgs& args);
Result<int> runLogs(CliContext& context, const ParsedArgs& args);
Result<int> runTop(CliContext& context, const ParsedArgs& args);

}  // namespace millrace::cli
