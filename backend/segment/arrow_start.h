#pragma once
// Arrow's process-wide set-up, once at the start of a program that runs segments.
#include "backend/core/status.h"

namespace millrace::segment {

/// Registers the compute kernels. Without it expressions find none.
Status initializeArrow();
/// "26.0.1": for receipts and --version.
std::string arrowVersion();

}  // namespace millrace::segment
