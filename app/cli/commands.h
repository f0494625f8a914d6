#pragma once
// The command table's functions that need a daemon or no data. Each returns an exit code.
#include "app/cli/frame/command.h"

namespace millrace::cli {

int runUp(CliContext& context, const ParsedArgs& args);
int runDown(CliContext& context, const ParsedArgs& args);
int runDoctor(CliContext& context, const ParsedArgs& args);
int runSocketPath(CliContext& context, const ParsedArgs& args);
int runNodes(CliContext& context, const ParsedArgs& args);
int runVersion(CliContext& context, const ParsedArgs& args);
int runHelp(CliContext& context, const ParsedArgs& args);
int runCompletion(CliContext& context, const ParsedArgs& args);

int runSubmit(CliContext& context, const ParsedArgs& args);
int runWait(CliContext& context, const ParsedArgs& args);
int runResume(CliContext& context, const ParsedArgs& args);
int runStop(CliContext& context, const ParsedArgs& args);
int runRemove(CliContext& context, const ParsedArgs& args);

int runList(CliContext& context, const ParsedArgs& args);
int runShow(CliContext& context, const ParsedArgs& args);
int runCompare(CliContext& context, const ParsedArgs& args);
int runMetrics(CliContext& context, const ParsedArgs& args);

int runWatch(CliContext& context, const ParsedArgs& args);
int runLogs(CliContext& context, const ParsedArgs& args);
int runTop(CliContext& context, const ParsedArgs& args);

}  // namespace millrace::cli
