#include "daemon/rpc/node_services.h"

#include <algorithm>

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/utf8.h"
#include "daemon/rpc/stream_writer.h"
#include "proto/convert/node_convert.h"
#include "proto/convert/rpc_options.h"

namespace millrace::rpc {
namespace {

v1::NodeSample sampleMessage(const std::string& node, const agent::NodeReport& report) {
    convert::NodeMoment moment{node, report.sample, {}};
    for (const agent::WorkerUse& use : report.workers) {
        moment.workers.push_back({use.runId, use.worker, use.pid, use.cpuPercent, use.memoryBytes});
    }
    return convert::toProto(moment);
}

grpc::ServerUnaryReactor* finished(grpc::CallbackServerContext* context, const Status& status) {
    grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
    reactor->Finish(toGrpc(status));
    return reactor;
}

}  // namespace

grpc::ServerUnaryReactor* NodesService::Handshake(Context* context,
                                                  const v1::HandshakeRequest* request,
                                                  v1::HandshakeResponse* response) {
    if (request->protocol_version() == 0) {
        return finished(context, invalidArgument("handshake without a protocol version"));
    }
    response->set_version(std::string(config::daemonVersion()));
    response->set_protocol_version(std::min(request->protocol_version(), kProtocolVersion));
    for (const char* name : {"runs", "telemetry", "inspect", "embedded"}) {
        response->add_capabilities(name);
    }
    if (!telemetry_.info().gpus.empty()) {
        response->add_capabilities("nvml");
    }
    response->set_now_ms(clock_.wallMs());
    return finished(context, okStatus());
}

grpc::ServerUnaryReactor* NodesService::List(Context* context, const v1::ListNodesRequest*,
                                             v1::ListNodesResponse* response) {
    convert::NodeFacts facts;
    facts.info = telemetry_.info();
    facts.address = facts_.address;
    facts.stateDir = facts_.config.stateDir;
    facts.pid = ::getpid();
    *response->add_nodes() = convert::toProto(facts);
    return finished(context, okStatus());
}

grpc::ServerWriteReactor<v1::NodeSample>* NodesService::WatchTelemetry(
    Context*, const v1::WatchTelemetryRequest* request) {
    struct Position {
        std::shared_ptr<agent::TelemetryService::Watch> watch;
        std::uint64_t seen = 0;
        std::uint32_t left = 0;
    };
    auto position = std::make_shared<Position>();
    position->watch = telemetry_.watch();
    position->left = request->samples();
    // The last sample of an earlier watch is not "now"; by its number, because clocks are set.
    position->seen = telemetry_.latest().number;
    const std::string node = telemetry_.info().hostname;
    if (!request->node().empty() && request->node() != node) {
        const ::millrace::Status status =
            notFound("no node '", request->node(), "'; this daemon is on ", node);
        return openStream<v1::NodeSample>(
            parts_.pump, [status]() -> Result<Produced<v1::NodeSample>> { return status; },
            {std::chrono::milliseconds(100)});
    }
    // Looked at more often than samples come, so that a new one is sent soon; latest wins.
    constexpr Pace kLook{std::chrono::milliseconds(200)};
    return openStream<v1::NodeSample>(
        parts_.pump,
        [this, position, node]() -> Result<Produced<v1::NodeSample>> {
            const agent::NodeReport report = telemetry_.latest();
            Produced<v1::NodeSample> produced;
            if (report.number == position->seen) {
                return produced;
            }
            position->seen = report.number;
            produced.message = sampleMessage(node, report);
            produced.isEnd = position->left > 0 && --position->left == 0;
            return produced;
        },
        kLook);
}

grpc::ServerUnaryReactor* DaemonService::Status(Context* context, const v1::DaemonStatusRequest*,
                                                v1::DaemonStatusResponse* response) {
    return answerOn(parts_.quick, context, [this, response]() -> ::millrace::Status {
        response->set_version(std::string(config::daemonVersion()));
        response->set_pid(::getpid());
        response->set_started_ms(facts_.startedMs);
        response->set_address(toUtf8(facts_.address));
        response->set_state_dir(toUtf8(facts_.config.stateDir));
        response->set_bin_dir(toUtf8(facts_.config.binDir));
        const agent::RunController::Counts counts = controller_.counts();
        response->set_runs_running(static_cast<std::uint32_t>(counts.running));
        response->set_runs_queued(static_cast<std::uint32_t>(counts.queued));
        runs::RunQuery query;
        query.view = runs::RunQuery::View::kAll;
        query.pageSize = 1;
        query.withMetrics = false;
        ASSIGN_OR_RETURN(const runs::RunPage page, store_.list(query));
        response->set_runs_total(static_cast<std::uint64_t>(page.total));
        for (const std::string& warning : controller_.warnings()) {
            response->add_warnings(toUtf8(warning));
        }
        return okStatus();
    });
}

grpc::ServerUnaryReactor* DaemonService::Down(Context* context, const v1::DownRequest* request,
                                              v1::DownResponse* response) {
    return answerOn(parts_.down, context, [this, request, response]() -> ::millrace::Status {
        const std::uint32_t seconds =
            request->grace_seconds() == 0 ? kDefaultGraceSeconds : request->grace_seconds();
        logInfo("daemon: asked to go down", {{"graceS", seconds}});
        const auto report =
            controller_.down(std::chrono::seconds(std::min<std::uint32_t>(seconds, 3600)));
        RETURN_IF_ERROR(report.status());
        response->set_runs_stopped(static_cast<std::uint32_t>(report->runsStopped));
        response->set_workers_ended(static_cast<std::uint32_t>(report->workersEnded));
        response->set_runs_queued(static_cast<std::uint32_t>(report->runsQueued));
        response->set_runs_left(static_cast<std::uint32_t>(report->runsLeft));
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
        ASSIGN_OR_RETURN(const runs::StoreCheck check, store_.check(request->whole(), isUnwanted));
        constexpr double kNsPerSecond = 1e9;
        response->set_seconds(static_cast<double>(clock_.steadyNs() - start) / kNsPerSecond);
        response->set_path(toUtf8(facts_.config.storePath()));
        response->set_bytes(static_cast<std::uint64_t>(check.bytes));
        response->set_runs(static_cast<std::uint64_t>(check.runs));
        for (const std::string& damage : check.damage) {
            response->add_damage(damage);
        }
        return okStatus();
    });
}

void DaemonService::end() {
    isEnding_ = true;
    checks_.end();
}

}  // namespace millrace::rpc
