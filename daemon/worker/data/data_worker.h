#pragma once
// The role data: a process that joins a stream and computes its segments until the feed ends or it
// is told to leave.
//
// Failure: the process's exit code. A refusal is reported in the feed's words.
#include "daemon/worker/loader/elsewhere.h"

namespace millrace::data {

/// Number of threads for a worker on the feed's machine without a configured number: its share of
/// the cores, among the workers that a run starts there.
int sharedThreads(const spec::RunSpec& spec, int cores);

/// 0: the stream is over, or SIGTERM or SIGINT made it leave in order; a second signal ends it.
int runDataWorker(const loader::DataRequest& request);

}  // namespace millrace::data
