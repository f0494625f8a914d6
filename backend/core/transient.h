#pragma once
// isTransient(), mayPass(): whether an error passes by itself.
//
// Threads: any.
#include "backend/core/status.h"

namespace millrace {

/// Whether the same call may succeed a little later: kUnavailable, and an error of the system that
/// told of no free descriptor or of a disk that fails (errnoStatus(); annotate() keeps it).
bool isTransient(const Status& status);
/// The same, and no room: a user who frees some need not start again.
bool mayPass(const Status& status);
/// Marks an error as one that passes by itself.
Status transient(Status status);

}  // namespace millrace
