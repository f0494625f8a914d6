#pragma once
// The services Nodes and Daemon: facts about the nodes and the daemon, their samples, and the
// daemon's end.
#include <memory>

#include <grpcpp/grpcpp.h>

#include "daemon/rpc/rpc_server.h"
#include "daemon/rpc/runs_service.h"

namespace millrace::rpc {

/// `of` outlives them.
std::unique_ptr<grpc::Service> makeNodesService(const RpcServerParts& of, ServiceParts parts);

/// Calls `of.end` after the answer to Down has been sent. `checks` outlives it and runs the checks
/// of the store, which take minutes if it is large; they end with that pool.
std::unique_ptr<grpc::Service> makeDaemonService(const RpcServerParts& of, ServiceParts parts,
                                                 CallPool& checks);

}  // namespace millrace::rpc
