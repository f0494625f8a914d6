#include "daemon/rpc/node_services.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <millrace/v1/daemon.grpc.pb.h>
#include <millrace/v1/nodes.grpc.pb.h>
#include <unistd.h>

#include "backend/core/log.h"
#include "backend/text/utf8.h"
#include "daemon/rpc/stream_writer.h"
#include "proto/convert/daemon_convert.h"
#include "proto/convert/node_convert.h"
#include "proto/convert/rpc_options.h"

namespace millrace::rpc {
namespace {

using Context = grpc::CallbackServerContext;
using Unary = grpc::ServerUnaryReactor;

class NodesService final : public v1::Nodes::CallbackService {
 public:
    NodesService(const RpcServerParts& of, ServiceParts parts) : of_(of), parts_(parts) {}

    Unary* Handshake(Context* context, const v1::HandshakeRequest* request,
                     v1::HandshakeResponse* response) override {
        if (request->protocol_version() == 0) {
            return finished(context, invalidArgument("handshake without a protocol version"));
        }
        *response = convert::toProto(values::Handshake{
            std::string(config::daemonVersion()),
            std::min(request->protocol_version(), kProtocolVersion), of_.clock.wallMs()});
        return finished(context, okStatus());
    }

    Unary* List(Context* context, const v1::ListNodesRequest*,
                v1::ListNodesResponse* response) override {
        values::NodeInfo node = of_.telemetry.info();
        node.isHead = true;
        node.isClosed = !of_.config.trainsHere;
        node.address = of_.config.address.text();
        node.stateDir = of_.config.stateDir;
        node.pid = ::getpid();
        *response->add_nodes() = convert::toProto(node);
        for (const values::NodeInfo& other : of_.nodes.nodes()) {
            *response->add_nodes() = convert::toProto(other);
        }
        return finished(context, okStatus());
    }

    Unary* Drain(Context* context, const v1::DrainNodeRequest* request,
                 v1::DrainNodeResponse*) override {
        return finished(context, of_.nodes.drain(request->name(), !request->is_back()));
    }

    Unary* Invite(Context* context, const v1::InviteNodeRequest* request,
                  v1::InviteNodeResponse* response) override {
        return answerOn(parts_.quick, context, [this, request, response]() -> ::millrace::Status {
            RETURN_IF_ERROR(config::checkNodeName("node", request->name()));
            RETURN_IF_ERROR(of_.nodes.checkIsOther(request->name()));
            ASSIGN_OR_RETURN(*response->mutable_join_file(), of_.tokens.invite(request->name()));
            return okStatus();
        });
    }

    Unary* Forget(Context* context, const v1::ForgetNodeRequest* request,
                  v1::ForgetNodeResponse*) override {
        return answerOn(parts_.quick, context, [this, request] { return forget(request->name()); });
    }

    grpc::ServerWriteReactor<v1::NodeSample>* WatchTelemetry(
        Context*, const v1::WatchTelemetryRequest* request) override {
        struct Position {
            std::shared_ptr<void> watch, watchOthers;
            std::map<std::string, std::uint64_t> seen;  // by node
            std::uint32_t left = 0;
        };
        const std::string node = request->node(), own = of_.telemetry.info().name;
        if (!node.empty() && node != own && !of_.nodes.knows(node)) {
            return refuse<v1::NodeSample>(parts_.pump,
                                          notFound("no node '", node, "'; this daemon is on ", own,
                                                   ", and 'millrace nodes' has the others"));
        }
        auto position = std::make_shared<Position>();
        position->left = request->samples();
        // The last sample of an earlier watch is not "now"; compared by number, because clocks can
        // be set.
        for (const auto& [name, report] : samples()) {
            position->seen[name] = report.number;
        }
        if (node.empty() || node == own) {
            position->watch = of_.telemetry.watch();
        }
        if (node != own) {
            position->watchOthers = of_.nodes.watch();
        }
        // Checked more often than samples arrive, so that a new one is sent soon; only the latest
        // is sent.
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

 private:
    // Removes the token first, because the agent reconnects as soon as its connection ends.
    Status forget(const std::string& node) {
        const auto& hosts = of_.config.hosts;
        if (std::ranges::any_of(hosts, [&](const Address& host) { return host.host == node; })) {
            return failedPrecondition(
                "node ", node, " is one of the daemon's 'hosts' (", of_.config.configFile,
                "), which it starts: take it out there and restart the daemon");
        }
        RETURN_IF_ERROR(of_.nodes.checkIsOther(node));
        const bool isSeen = of_.nodes.knows(node);
        if (!isSeen && !of_.tokens.isInvited(node)) {
            return notFound("unknown node '", node, "'; 'millrace nodes' lists the nodes");
        }
        RETURN_IF_ERROR(of_.tokens.forget(node));
        return of_.nodes.forget(node);
    }

    // Returns the newest sample of each node, including the daemon's own.
    std::map<std::string, agent::NodeReport> samples() const {
        std::map<std::string, agent::NodeReport> all = of_.nodes.samples();
        agent::NodeReport own = of_.telemetry.latest();
        if (own.number > 0) {
            all[of_.telemetry.info().name] = std::move(own);
        }
        for (const auto& [node, rates] : of_.telemetry.frameRates()) {
            const auto report = all.find(node);
            if (report != all.end()) {
                values::NodeSample& sample = report->second.sample;
                std::tie(sample.framesSendBytesPerSecond, sample.framesReceiveBytesPerSecond) =
                    rates;
            }
        }
        return all;
    }

    const RpcServerParts& of_;
    const ServiceParts parts_;
};

class DaemonService final : public v1::Daemon::CallbackService {
 public:
    DaemonService(const RpcServerParts& of, ServiceParts parts, CallPool& checks)
        : of_(of), parts_(parts), checks_(checks), startedMs_(of.clock.wallMs()) {}

    Unary* Status(Context* context, const v1::DaemonStatusRequest*,
                  v1::DaemonStatusResponse* response) override {
        return answerOn(parts_.quick, context, [this, response]() -> ::millrace::Status {
            values::DaemonStatus status;
            status.version = config::daemonVersion();
            status.pid = ::getpid();
            status.startedMs = startedMs_;
            status.address = of_.config.address.text();
            status.stateDir = of_.config.stateDir;
            status.binDir = of_.config.binDir;
            status.configFile = of_.config.configFile;
            status.logFile = of_.config.logFile;
            status.nodesListen = of_.config.nodesListen;
            status.nodesAddress = of_.config.nodesAddress;
            status.isClosed = !of_.config.trainsHere;
            const agent::RunController::Counts counts = of_.controller.counts();
            status.runsRunning = counts.running;
            status.runsQueued = counts.queued;
            runs::RunQuery query;
            query.view = values::RunView::kAll;
            query.pageSize = 1;
            query.withMetrics = false;
            ASSIGN_OR_RETURN(const values::RunPage page, of_.store.list(query));
            status.runsTotal = page.total;
            for (const std::string& warning : of_.controller.warnings()) {
                status.warnings.push_back(toUtf8(warning));
            }
            *response = convert::toProto(status);
            return okStatus();
        });
    }

    Unary* Down(Context* context, const v1::DownRequest* request,
                v1::DownResponse* response) override {
        return answerOn(parts_.down, context, [this, request, response]() -> ::millrace::Status {
            const std::uint32_t seconds =
                request->grace_seconds() == 0 ? kDefaultGraceSeconds : request->grace_seconds();
            logInfo("daemon: asked to go down", {{"graceS", seconds}});
            ASSIGN_OR_RETURN(
                const values::DownReport report,
                of_.controller.down(std::chrono::seconds(std::min<std::uint32_t>(seconds, 3600))));
            *response = convert::toProto(report);
            of_.nodes.endAll();
            of_.end();
            return okStatus();
        });
    }

    Unary* CheckStore(Context* context, const v1::CheckStoreRequest* request,
                      v1::CheckStoreResponse* response) override {
        return answerOn(
            checks_, context, [this, context, request, response]() -> ::millrace::Status {
                const auto isUnwanted = [this, context] {
                    return checks_.isEnding() || context->IsCancelled();
                };
                const std::int64_t start = of_.clock.steadyNs();
                ASSIGN_OR_RETURN(values::StoreCheck check,
                                 of_.store.check(request->whole(), isUnwanted));
                constexpr double kNsPerSecond = 1e9;
                check.seconds = static_cast<double>(of_.clock.steadyNs() - start) / kNsPerSecond;
                check.path = of_.config.storePath();
                *response = convert::toProto(check);
                return okStatus();
            });
    }

 private:
    const RpcServerParts& of_;
    const ServiceParts parts_;
    CallPool& checks_;
    const std::int64_t startedMs_;
};

}  // namespace

std::unique_ptr<grpc::Service> makeNodesService(const RpcServerParts& of, ServiceParts parts) {
    return std::make_unique<NodesService>(of, parts);
}

std::unique_ptr<grpc::Service> makeDaemonService(const RpcServerParts& of, ServiceParts parts,
                                                 CallPool& checks) {
    return std::make_unique<DaemonService>(of, parts, checks);
}

}  // namespace millrace::rpc
