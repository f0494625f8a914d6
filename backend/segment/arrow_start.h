#pragma once
// Arrow's process-wide set-up, once at the start of a program that runs segments.
#include <string>

#include "backend/core/status.h"

namespace millrace::segment {

/// Arrow's kernels and ours, once a process, before anything else of this room.
Status initializeKernels();
/// "26.0.1": for receipts.
std::string arrowVersion();

}  // namespace millrace::segment
