#pragma once
// The service Runs: only translates between messages and agent::RunService. Only runs_service.cpp
// needs to know its methods.
#include <memory>

#include <millrace/v1/runs.grpc.pb.h>

#include "daemon/agent/run_service.h"
#include "daemon/rpc/access.h"
#include "daemon/rpc/call_pool.h"
#include "daemon/rpc/stream_pump.h"

namespace millrace::rpc {

/// The parts that services use; everything here outlives the server.
struct ServiceParts {
    CallPool& quick;  ///< reads and small changes
    CallPool& slow;   ///< submits, which wait for datasets, and purges
    CallPool& down;   ///< the daemon's end, which waits for no other call
    StreamPump& pump;
    Access access = {};  ///< which caller may change which run; by default, the daemon's user any
};

/// `runs` outlives it. Its streams are polled when `runs` reports news after a commit, not at
/// intervals.
std::unique_ptr<v1::Runs::CallbackService> makeRunsService(agent::RunService& runs,
                                                           ServiceParts parts);

}  // namespace millrace::rpc
