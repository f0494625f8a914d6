#pragma once
// `millrace-loader feed`: computes segments into the ranks' rings, for a run's daemon or for a
// process of the user's own.
#include <string>

#include "daemon/worker/loader/elsewhere.h"
#include "daemon/worker/loader/feed/events.h"
#include "daemon/worker/loader/feed/job.h"
#include "daemon/worker/loader/feed/owner.h"

namespace millrace::loader {

/// Serves one job of a daemon, from its job.json. Returns the process's exit code: 0 done, 3
/// stopped on request, 4 input or data, 5 other, 6 memory, disk or a limit.
int runFeed(const std::string& jobPath, const DataPlane& plane);

/// Serves without a daemon. Also 0 if the process that started it is gone.
int runFeed(const FeedRequest& request, const DataPlane& plane);

/// Serves until the end of the stream, or of the owner; returns the exit code.
int serveFeed(FeedJob job, const DataPlane& plane, FeedEvents& events, FeedOwner& owner);

}  // namespace millrace::loader
