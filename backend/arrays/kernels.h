#pragma once
// Loads Arrow's kernels that are called by name.
//
// Casting, taking and everything else in Arrow's core works without it. The others are loaded and
// registered at first use: 4 ms of processor time that most streams do not need.
#include "backend/core/status.h"

namespace millrace::arrays {

/// Call it before arrow::compute::CallFunction and similar calls. Any thread. Failure: kInternal if
/// the library beside the program cannot be loaded, the same at every call.
Status needKernels();

}  // namespace millrace::arrays
