#pragma once
// isTransient(), mayPass(): whether an error passes by itself.
//
// Threads: any.
#include "backend/core/status.h"

namespace millrace {

/// Whether the same call may succeed a little later: kUnavailable, and an error of the system that
/// told of no free descriptor or of a disk that fails (errnoStatus(); annotate() keeps it).
bool isTransient(const Status& status);
/// isTransient(), or a full disk: when a user frees space, the call succeeds.
bool mayPass(const Status& status);
/// Marks an error as one that passes by itself.
Status transient(Status status);

}  // namespace millrace
