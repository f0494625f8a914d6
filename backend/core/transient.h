#pragma once
// isTransient(): whether an error passes by itself.
#include "backend/core/status.h"

namespace millrace {

/// Whether the same call may succeed a little later: kUnavailable, and an error of the system that
/// told of no free descriptor (errnoStatus(); annotate() keeps it).
bool isTransient(const Status& status);

}  // namespace millrace
