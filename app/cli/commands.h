#pragma once
// The command table's functions that need a daemon or no data. Each returns an exit code, or an
// error that is to be printed.
#include "app/cli/frame/command.h"

namespace millrace::cli {

CommandFunction runUp, runDown, runDoctor, runSocketPath, runNodes;
CommandFunction runVersion, runHelp, runCompletion;
CommandFunction runSubmit, runWait, runResume, runStop, runRemove;
CommandFunction runList, runShow, runCompare, runMetrics;
CommandFunction runWatch, runLogs, runTop;

}  // namespace millrace::cli
