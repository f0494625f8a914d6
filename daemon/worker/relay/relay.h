#pragma once
// The relay: the feed of a node that gets its ranks' rings from the feed of another node.
//
// Threads: one owner, the process's main thread. Owns: the socket that ranks connect to, their
// rings. Failure: the process's exit code; a refusal is reported in the leading feed's words.
#include <string>

#include "daemon/worker/loader/feed/events.h"
#include "daemon/worker/loader/feed/job.h"
#include "daemon/worker/loader/feed/owner.h"

namespace millrace::relay {

/// Runs until the ranks of `job` have everything, the leading feed is over or gone, or the owner
/// wants the end.
int runRelay(const loader::FeedJob& job, const std::string& buildId, loader::FeedEvents& events,
             loader::FeedOwner& owner);

}  // namespace millrace::relay
