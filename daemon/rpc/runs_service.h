#pragma once
// The service Runs: translates between messages and agent::RunService, and nothing else. A call
// stands in runs_service.cpp alone.
#include <memory>

#include <millrace/v1/runs.grpc.pb.h>

#include "daemon/agent/run_service.h"
#include "daemon/rpc/access.h"
#include "daemon/rpc/call_pool.h"
#include "daemon/rpc/stream_pump.h"

namespace millrace::rpc {

/// What services work with; all of it outlives the server.
struct ServiceParts {
    CallPool& quick;  ///< reads and small changes
    CallPool& slow;   ///< submits, which wait for datasets, and purges
    CallPool& down;   ///< the daemon's end, which waits for nobody else
    StreamPump& pump;
    Access access = {};  ///< who may change a run; without it, the daemon's user any
};

/// `runs` outlives it. Its streams are asked again when `runs` has news: after a commit, not now
/// and then.
std::unique_ptr<v1::Runs::CallbackService> makeRunsService(agent::RunService& runs,
                                                           ServiceParts parts);

}  // namespace millrace::rpc
