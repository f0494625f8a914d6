#pragma once
// The role data: a process that joins a stream and computes its segments until the feed ends, or
// it is told to leave.
//
// Failure: the process's exit code. What the feed refuses is said in the feed's words.
#include "daemon/worker/loader/elsewhere.h"

namespace millrace::data {

/// 0: the stream is over, or SIGTERM or SIGINT let it leave in order; a second signal ends it.
int runDataWorker(const loader::DataRequest& request);

}  // namespace millrace::data
