#pragma once
// Checks that every function of the language can be evaluated.
#include "backend/core/status.h"

namespace millrace::eval {

/// kInternal unless each of spec::allFunctions() has exactly one kernel; a forgotten function must
/// not evaluate as another. For the tests. Threads: any.
Status checkFunctionKernels();

}  // namespace millrace::eval
