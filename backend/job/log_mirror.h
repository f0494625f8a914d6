#pragma once
// Mirrors the log of a worker on another node in the same files as for a local worker (FileLogs
// reads both).
//
// A node sends blocks as FileLogs::read() returns them. A block that starts a file there starts one
// here, so that the pair of files is bounded like the node's.
// Threads: any, one at a time per log. Failure: an error names the file; bytes that were not
// written are sent again, as FileLogs::end() shows how much is present.
#include <string>

#include "backend/job/worker_logs.h"

namespace millrace::job {

/// `root`: the directory of all runs. Skips lines that are already present.
Status appendLog(const std::string& root, const LogKey& key, const LogBlock& block);

}  // namespace millrace::job
