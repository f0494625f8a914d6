#include "daemon/rpc/node_services.h"

#include <algorithm>

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/text/utf8.h"
#include "daemon/rpc/stream_writer.h"
#include "proto/convert/daemon_convert.h"
#include "proto/convert/node_convert.h"
#include "proto/convert/rpc_options.h"

namespace millrace::rpc {

grpc::ServerUnaryReactor* NodesService::Handshake(Context* context,
                                                  const v1::HandshakeRequest* request,
                                                  v1::HandshakeResponse* response) {
    if (request->protocol_version() == 0) {
        return finished(context, invalidArgument("handshake without a protocol version"));
    }
    *response = convert::toProto(values::Handshake{
        std::string(config::daemonVersion()),
        std::min(request->protocol_version(), kProtocolVersion), clock_.wallMs()});
    return finished(context, okStatus());
}

grpc::ServerUnaryReactor* NodesService::List(Context* context, const v1::ListNodesRequest*,
                                             v1::ListNodesResponse* response) {
    values::NodeInfo node = telemetry_.info();
    node.isHead = true;
    node.isClosed = !facts_.config.trainsHere;
    node.address = facts_.address;
    node.stateDir = facts_.config.stateDir;
    node.pid = ::getpid();
    *response->add_nodes() = convert::toProto(node);
    for (const values::NodeInfo& other : nodes_.nodes()) {
        *response->add_nodes() = convert::toProto(other);
    }
    return finished(context, okStatus());
}

grpc::ServerUnaryReactor* NodesService::Drain(Context* context, const v1::DrainNodeRequest* request,
                                              v1::DrainNodeResponse*) {
    return finished(context, nodes_.drain(request->name(), !request->is_back()));
}

grpc::ServerUnaryReactor* NodesService::Invite(Context* context,
                                               const v1::InviteNodeRequest* request,
                                               v1::InviteNodeResponse* response) {
    return answerOn(parts_.quick, context, [this, request, response]() -> ::millrace::Status {
        RETURN_IF_ERROR(config::checkNodeName("node", request->name()));
        RETURN_IF_ERROR(nodes_.checkIsOther(request->name()));
        ASSIGN_OR_RETURN(*response->mutable_join_file(), tokens_.invite(request->name()));
        return okStatus();
    });
}

grpc::ServerUnaryReactor* NodesService::Forget(Context* context,
                                               const v1::ForgetNodeRequest* request,
                                               v1::ForgetNodeResponse*) {
    return answerOn(parts_.quick, context, [this, request] { return forget(request->name()); });
}

// Removes the token first, because the agent reconnects as soon as its connection ends.
::millrace::Status NodesService::forget(const std::string& node) {
    const auto& hosts = facts_.config.hosts;
    if (std::any_of(hosts.begin(), hosts.end(),
                    [&](const Address& host) { return host.host == node; })) {
        return failedPrecondition("node ", node, " is one of the daemon's 'hosts' (",
                                  facts_.config.configFile,
                                  "), which it starts: take it out there and restart the daemon");
    }
    RETURN_IF_ERROR(nodes_.checkIsOther(node));
    const bool isSeen = nodes_.knows(node);
    if (!isSeen && !tokens_.isInvited(node)) {
        return notFound("unknown node '", node, "'; 'millrace nodes' lists the nodes");
    }
    RETURN_IF_ERROR(tokens_.forget(node));
    return nodes_.forget(node);
}

// Returns the newest sample of each node, including the daemon's own.
std::map<std::string, agent::NodeReport> NodesService::samples() const {
    std::map<std::string, agent::NodeReport> all = nodes_.samples();
    agent::NodeReport own = telemetry_.latest();
    if (own.number > 0) {
        all[telemetry_.info().name] = std::move(own);
    }
    return all;
}

grpc::ServerWriteReactor<v1::NodeSample>* NodesService::WatchTelemetry(
    Context*, const v1::WatchTelemetryRequest* request) {
    struct Position {
        std::shared_ptr<agent::TelemetryService::Watch> watch;
        std::shared_ptr<agent::NodeTable::Watch> watchOthers;
        std::map<std::string, std::uint64_t> seen;  // by node
        std::uint32_t left = 0;
    };
    const std::string node = request->node(), own = telemetry_.info().name;
    if (!node.empty() && node != own && !nodes_.knows(node)) {
        return refuse<v1::NodeSample>(parts_.pump,
                                      notFound("no node '", node, "'; this daemon is on ", own,
                                               ", and 'millrace nodes' has the others"));
    }
    auto position = std::make_shared<Position>();
    position->left = request->samples();
    // The last sample of an earlier watch is not "now"; compared by number, because clocks can be
    // set.
    for (const auto& [name, report] : samples()) {
        position->seen[name] = report.number;
    }
    if (node.empty() || node == own) {
        position->watch = telemetry_.watch();
    }
    if (node != own) {
        position->watchOthers = std::make_shared<agent::NodeTable::Watch>(nodes_);
    }
    // Checked more often than samples arrive, so that a new one is sent soon; only the latest is
    // sent.
    constexpr Pace kLook{std::chrono::milliseconds(200)};
    return openStream<v1::NodeSample>(
        parts_.pump,
        [this, position, node]() -> Result<Produced<v1::NodeSample>> {
            Produced<v1::NodeSample> produced;
            for (const auto& [name, report] : samples()) {
                const bool isWanted = node.empty() || name == node;
                if (!isWanted || position->seen[name] == report.number) {
                    continue;
                }
                if (produced.message.has_value()) {
                    produced.isMoreReady = !produced.isEnd;
                    break;
                }
                position->seen[name] = report.number;
                produced.message = convert::toProto(report.sample);
                produced.isEnd = position->left > 0 && --position->left == 0;
            }
            return produced;
        },
        kLook);
}

grpc::ServerUnaryReactor* DaemonService::Status(Context* context, const v1::DaemonStatusRequest*,
                                                v1::DaemonStatusResponse* response) {
    return answerOn(parts_.quick, context, [this, response]() -> ::millrace::Status {
        values::DaemonStatus status;
        status.version = config::daemonVersion();
        status.pid = ::getpid();
        status.startedMs = facts_.startedMs;
        status.address = facts_.address;
        status.stateDir = facts_.config.stateDir;
        status.binDir = facts_.config.binDir;
        status.configFile = facts_.config.configFile;
        status.logFile = facts_.config.logFile;
        status.nodesListen = facts_.config.nodesListen;
        status.nodesAddress = facts_.config.nodesAddress;
        status.isClosed = !facts_.config.trainsHere;
        const agent::RunController::Counts counts = controller_.counts();
        status.runsRunning = counts.running;
        status.runsQueued = counts.queued;
        runs::RunQuery query;
        query.view = values::RunView::kAll;
        query.pageSize = 1;
        query.withMetrics = false;
        ASSIGN_OR_RETURN(const values::RunPage page, store_.list(query));
        status.runsTotal = page.total;
        for (const std::string& warning : controller_.warnings()) {
            status.warnings.push_back(toUtf8(warning));
        }
        *response = convert::toProto(status);
        return okStatus();
    });
}

grpc::ServerUnaryReactor* DaemonService::Down(Context* context, const v1::DownRequest* request,
                                              v1::DownResponse* response) {
    return answerOn(parts_.down, context, [this, request, response]() -> ::millrace::Status {
        const std::uint32_t seconds =
            request->grace_seconds() == 0 ? kDefaultGraceSeconds : request->grace_seconds();
        logInfo("daemon: asked to go down", {{"graceS", seconds}});
        ASSIGN_OR_RETURN(
            const values::DownReport report,
            controller_.down(std::chrono::seconds(std::min<std::uint32_t>(seconds, 3600))));
        *response = convert::toProto(report);
        nodes_.endAll();
        end_();
        return okStatus();
    });
}

grpc::ServerUnaryReactor* DaemonService::CheckStore(Context* context,
                                                    const v1::CheckStoreRequest* request,
                                                    v1::CheckStoreResponse* response) {
    return answerOn(checks_, context, [this, context, request, response]() -> ::millrace::Status {
        const auto isUnwanted = [this, context] { return isEnding_ || context->IsCancelled(); };
        const std::int64_t start = clock_.steadyNs();
        ASSIGN_OR_RETURN(values::StoreCheck check, store_.check(request->whole(), isUnwanted));
        constexpr double kNsPerSecond = 1e9;
        check.seconds = static_cast<double>(clock_.steadyNs() - start) / kNsPerSecond;
        check.path = facts_.config.storePath();
        *response = convert::toProto(check);
        return okStatus();
    });
}

void DaemonService::end() {
    isEnding_ = true;
    checks_.end();
}

}  // namespace millrace::rpc
