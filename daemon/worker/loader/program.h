#pragma once
// The command line of millrace-loader and of millrace-data, which are one program but for the
// network.
#include "daemon/worker/loader/elsewhere.h"

namespace millrace::loader {

/// The exit code. Without a data plane's functions, what needs them is handed to millrace-data
/// beside this program.
int runProgram(int argc, char** argv, DataPlane plane);

}  // namespace millrace::loader
