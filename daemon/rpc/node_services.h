#pragma once
// The services Nodes and Daemon: facts about the nodes and the daemon, their samples, and the
// daemon's end.
#include <atomic>
#include <functional>
#include <map>
#include <string>

#include <millrace/v1/daemon.grpc.pb.h>
#include <millrace/v1/nodes.grpc.pb.h>

#include "daemon/agent/join_tokens.h"
#include "daemon/agent/node_table.h"
#include "daemon/agent/run_controller.h"
#include "daemon/agent/telemetry_service.h"
#include "daemon/config/daemon_config.h"
#include "daemon/rpc/runs_service.h"

namespace millrace::rpc {

/// Facts about the daemon that both services report.
struct DaemonInfo {
    const config::DaemonConfig& config;
    std::string address;  ///< where it really listens
    std::int64_t startedMs = 0;
};

class NodesService final : public v1::Nodes::CallbackService {
 public:
    struct Parts {
        agent::TelemetryService& telemetry;
        agent::NodeTable& nodes;
        agent::JoinTokens& tokens;
        const Clock& clock;
    };
    NodesService(Parts of, DaemonInfo facts, ServiceParts parts)
        : telemetry_(of.telemetry),
          nodes_(of.nodes),
          tokens_(of.tokens),
          facts_(std::move(facts)),
          clock_(of.clock),
          parts_(parts) {}

    using Context = grpc::CallbackServerContext;
    grpc::ServerUnaryReactor* Handshake(Context*, const v1::HandshakeRequest*,
                                        v1::HandshakeResponse*) override;
    grpc::ServerUnaryReactor* List(Context*, const v1::ListNodesRequest*,
                                   v1::ListNodesResponse*) override;
    grpc::ServerUnaryReactor* Drain(Context*, const v1::DrainNodeRequest*,
                                    v1::DrainNodeResponse*) override;
    grpc::ServerUnaryReactor* Invite(Context*, const v1::InviteNodeRequest*,
                                     v1::InviteNodeResponse*) override;
    grpc::ServerUnaryReactor* Forget(Context*, const v1::ForgetNodeRequest*,
                                     v1::ForgetNodeResponse*) override;
    grpc::ServerWriteReactor<v1::NodeSample>* WatchTelemetry(
        Context*, const v1::WatchTelemetryRequest*) override;

 private:
    std::map<std::string, agent::NodeReport> samples() const;
    Status forget(const std::string& node);

    agent::TelemetryService& telemetry_;
    agent::NodeTable& nodes_;
    agent::JoinTokens& tokens_;
    const DaemonInfo facts_;
    const Clock& clock_;
    const ServiceParts parts_;
};

class DaemonService final : public v1::Daemon::CallbackService {
 public:
    /// `end` asks the process to end; it is called after the answer to Down has been sent.
    DaemonService(agent::RunController& controller, agent::NodeTable& nodes, runs::RunStore& store,
                  DaemonInfo facts, const Clock& clock, ServiceParts parts,
                  std::function<void()> end)
        : controller_(controller),
          nodes_(nodes),
          store_(store),
          facts_(std::move(facts)),
          clock_(clock),
          parts_(parts),
          end_(std::move(end)) {}
    /// Ends checks for damage, and refuses new ones. Does not wait.
    void end();

    using Context = grpc::CallbackServerContext;
    grpc::ServerUnaryReactor* Status(Context*, const v1::DaemonStatusRequest*,
                                     v1::DaemonStatusResponse*) override;
    grpc::ServerUnaryReactor* Down(Context*, const v1::DownRequest*, v1::DownResponse*) override;
    grpc::ServerUnaryReactor* CheckStore(Context*, const v1::CheckStoreRequest*,
                                         v1::CheckStoreResponse*) override;

 private:
    agent::RunController& controller_;
    agent::NodeTable& nodes_;
    runs::RunStore& store_;
    const DaemonInfo facts_;
    const Clock& clock_;
    const ServiceParts parts_;
    const std::function<void()> end_;
    std::atomic<bool> isEnding_{false};
    CallPool checks_{"checks", 1, 4};  // takes minutes if the store is large
};

}  // namespace millrace::rpc
