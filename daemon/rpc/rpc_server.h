#pragma once
// RpcServer: the services on the address that the configuration names.
//
// Owns: the gRPC server, its pools and the unix socket's gate. Threads: start and end by one owner.
// Failure: an address that is taken or TLS files that cannot be read are one sentence.
#include <functional>
#include <memory>

#include "backend/core/clock.h"
#include "backend/core/status.h"
#include "daemon/agent/inspection.h"
#include "daemon/agent/join_tokens.h"
#include "daemon/agent/node_table.h"
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
    /// Ends streams, waits a moment for calls, ends the rest.
    ~RpcServer();
    /// Where it listens: with the real port when 0 was asked for.
    const std::string& address() const;

 private:
    class Impl;
    explicit RpcServer(std::unique_ptr<Impl> impl);
    std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::rpc
