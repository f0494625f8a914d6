#pragma once
// `millrace-loader feed`: computes segments into the ranks' rings, for a run's daemon or for a
// process of one's own.
#include <string>

#include "daemon/worker/loader/elsewhere.h"
#include "daemon/worker/loader/feed/events.h"
#include "daemon/worker/loader/feed/job.h"
#include "daemon/worker/loader/feed/owner.h"

namespace millrace::loader {

/// Of one job of a daemon's, from its job.json. The process's exit code: 0 done, 3 stopped on
/// request, 4 input or data, 5 other, 6 memory, disk or a limit.
int runFeed(const std::string& jobPath, const DataPlane& plane);

/// Without a daemon. 0 also when whoever started it is gone.
int runFeed(const FeedRequest& request, const DataPlane& plane);

/// To the stream's end, or the owner's; the exit code.
int serveFeed(FeedJob job, const DataPlane& plane, FeedEvents& events, FeedOwner& owner);

}  // namespace millrace::loader
