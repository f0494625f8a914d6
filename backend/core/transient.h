#pragma once
// isTransient(), mayPass(): whether an error may pass without a fix.
//
// Threads: any.
#include "backend/core/status.h"

namespace millrace {

/// Whether the same call may succeed a little later: true for kUnavailable, and for system errors
/// of exhausted descriptors or a failing disk (errnoStatus(); annotate() keeps the mark).
bool isTransient(const Status& status);
/// isTransient(), or a full disk: the call succeeds once a user frees space.
bool mayPass(const Status& status);
/// Marks an error as transient.
Status transient(Status status);

}  // namespace millrace
