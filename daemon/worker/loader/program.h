#pragma once
// The command line of millrace-loader and of millrace-data, which are one program except for the
// network.
#include "daemon/worker/loader/elsewhere.h"

namespace millrace::loader {

/// Returns the exit code. Roles that need a missing function of the data plane are executed by
/// millrace-data in the same directory.
int runProgram(int argc, char** argv, DataPlane plane);

}  // namespace millrace::loader
