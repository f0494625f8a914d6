#pragma once
// The commands for specs and data: they run millrace-loader as a child process and need no daemon.
// Each returns an exit code.
#include "app/cli/frame/command.h"

namespace millrace::cli {

CommandFunction runCheck, runStream, runCount, runSample, runDataset, runHead, runPreview, runInit;

}  // namespace millrace::cli
