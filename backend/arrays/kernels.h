#pragma once
// Arrow's kernels that are called by name.
//
// Casting, taking and what else Arrow's core does itself need none of it. The others are loaded and
// registered at their first call: 4 ms of processor time that most streams have no use for.
#include "backend/core/status.h"

namespace millrace::arrays {

/// Before arrow::compute::CallFunction and its kin. Any thread. Failure: kInternal where the
/// library beside the program cannot be loaded, the same at every call.
Status needKernels();

}  // namespace millrace::arrays
