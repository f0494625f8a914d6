#pragma once
// RpcServer: the daemon's services, on the configured address. Used by main().
//
// Owns: the gRPC server, its pools and the unix socket's gate. Threads: start and end by one owner.
// Failure: one sentence for an address that is in use or TLS files that cannot be read.
#include <functional>
#include <memory>

#include "backend/core/clock.h"
#include "backend/core/status.h"
#include "daemon/agent/inspection.h"
#include "daemon/agent/membership/join_tokens.h"
#include "daemon/agent/membership/node_table.h"
#include "daemon/agent/run_controller.h"
#include "daemon/agent/run_service.h"
#include "daemon/agent/telemetry_service.h"
#include "daemon/config/daemon_config.h"

namespace millrace::rpc {

struct RpcServerParts {
    const config::DaemonConfig& config;
    agent::RunService& runs;
    agent::RunController& controller;
    agent::TelemetryService& telemetry;
    agent::NodeTable& nodes;
    agent::JoinTokens& tokens;
    const agent::Inspection& inspection;
    agent::Inspector& inspector;
    runs::RunStore& store;
    const Clock& clock;
    std::function<void()> end;  ///< asks the process to end
};

class RpcServer {
 public:
    static Result<std::unique_ptr<RpcServer>> start(RpcServerParts parts);
    /// Ends streams, waits a moment for calls, then ends the rest.
    virtual ~RpcServer() = default;
    /// The address where it listens, with the real port if 0 was configured.
    virtual const std::string& address() const = 0;
};

}  // namespace millrace::rpc
