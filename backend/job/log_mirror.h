#pragma once
// The log of a worker on another node, kept in the same files as of one here (FileLogs reads both).
//
// What a node sends are blocks as FileLogs::read() gives them. A block that begins a file there
// begins one here, so that the pair of files is bounded as the node's is.
// Threads: any, one at a time a log. Failure: an error names the file; what was not written is sent
// again, as FileLogs::end() tells how much is there.
#include <string>

#include "backend/job/worker_logs.h"

namespace millrace::job {

/// `root`: the directory of all runs. Lines that are there already are left out.
Status appendLog(const std::string& root, const LogKey& key, const LogBlock& block);

}  // namespace millrace::job
