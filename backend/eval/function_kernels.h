#pragma once
// Whether every function of the language can be evaluated.
#include "backend/core/status.h"

namespace millrace::eval {

/// kInternal unless each of spec::allFunctions() has exactly one kernel: a forgotten one must not
/// evaluate as another. At start, before anything of this room. Threads: any.
Status checkFunctionKernels();

}  // namespace millrace::eval
