#include "daemon/nodes/rank_tunnel.h"

#include "backend/core/log.h"
#include "daemon/transport/duplex.h"
#include "millrace/v1/agent.grpc.pb.h"

namespace millrace::nodes {
namespace {

using ToDoor = transport::ClientDuplex<v1::TunnelBytes, v1::TunnelBytes>;

}  // namespace

Result<std::unique_ptr<RankTunnel>> RankTunnel::open(const job::AttemptPaths& paths,
                                                     const std::string& run, int attempt, Way way) {
    std::unique_ptr<RankTunnel> tunnel(new RankTunnel(run, attempt, std::move(way)));
    ASSIGN_OR_RETURN(tunnel->pump_, transport::SocketPump::start());
    ASSIGN_OR_RETURN(tunnel->gate_,
                     LocalPeerGate::open(paths.rankSocket(), [self = tunnel.get()](int fd) {
                         self->take(UniqueFd(fd));
                     }));
    return tunnel;
}

// A worker connects again when its connection is closed.
void RankTunnel::take(UniqueFd socket) {
    const std::string why(messageOf(call(std::move(socket))));
    if (!why.empty() && why != told_) {
        logWarn("slot: a rank cannot reach the head", {{"run", run_}, {"why", why}});
    }
    told_ = why;
}

Status RankTunnel::call(UniqueFd socket) {
    ASSIGN_OR_RETURN(const transport::JoinFile file, transport::JoinFile::read(way_.joinPath));
    ASSIGN_OR_RETURN(const auto channel, way_.channel->open(file));
    const std::shared_ptr<v1::Agents::Stub> stub = v1::Agents::NewStub(channel);
    const auto port = pump_->open(std::move(socket));
    const std::shared_ptr<ToDoor> stream = ToDoor::make(
        {[port](v1::TunnelBytes& bytes) { port->received(std::move(*bytes.mutable_data())); },
         [port] { port->closed(); }, [port] { port->written(); }});
    stream->context().AddMetadata("millrace-tunnel-key-bin", way_.tunnelKey);
    stream->context().AddMetadata("millrace-run", run_);
    stream->context().AddMetadata("millrace-attempt", std::to_string(attempt_));
    stream->start([&stub](grpc::ClientContext* context, auto* reactor) {
        stub->async()->Tunnel(context, reactor);
    });
    pump_->attach(*port, transport::makeLink<v1::TunnelBytes>(
                             stream, [stub](ToDoor& one) { one.close(); },
                             [](ToDoor& one) { one.waitDone(); }));
    return okStatus();
}

}  // namespace millrace::nodes
