#pragma once
// The relay: what a feed is on a node whose ranks' rings come from the feed of another node.
//
// Threads: one owner, the process's main thread. Owns: the socket that ranks come to, their rings.
// Failure: the process's exit code; what the leading feed refuses is said in its words.
#include <string>

#include "daemon/worker/loader/feed/events.h"
#include "daemon/worker/loader/feed/job.h"
#include "daemon/worker/loader/feed/owner.h"

namespace millrace::relay {

/// Until the ranks of `job` have all, the leading feed is over or gone, or the owner wants the end.
int runRelay(const loader::FeedJob& job, const std::string& buildId, loader::FeedEvents& events,
             loader::FeedOwner& owner);

}  // namespace millrace::relay
