#pragma once
// The service Inspect: only translates between messages and agent::Inspection.
//
// It has pools of its own for its requests, so that a slow dataset delays no submit and a preview
// delays no check. A request of a client that has disconnected is not started, or is cancelled.
#include <memory>

#include <grpcpp/grpcpp.h>

#include "daemon/agent/inspection.h"
#include "daemon/rpc/call_pool.h"

namespace millrace::rpc {

/// All outlive it.
std::unique_ptr<grpc::Service> makeInspectService(const agent::Inspection& inspection,
                                                  CallPool& pool, CallPool& previews);

}  // namespace millrace::rpc
