#include "daemon/rpc/rpc_server.h"

#include <grpcpp/grpcpp.h>
#include <grpcpp/server_posix.h>

#include "backend/certificate/certificate.h"
#include "backend/core/log.h"
#include "backend/system/local_peer_gate.h"
#include "backend/system/tcp_gate.h"
#include "daemon/rpc/access.h"
#include "daemon/rpc/inspect_service.h"
#include "daemon/rpc/node_services.h"
#include "daemon/rpc/runs_service.h"
#include "proto/convert/rpc_options.h"

namespace millrace::rpc {
namespace {

void setLimits(grpc::ServerBuilder& builder) {
    builder.SetMaxReceiveMessageSize(kMaxMessageBytes);
    builder.SetMaxSendMessageSize(kMaxMessageBytes);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveTimeMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               kMinPingIntervalMs);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, 200);
}

Result<std::shared_ptr<grpc::ServerCredentials>> credentialsOf(const config::DaemonConfig& config,
                                                               const Access& access) {
    if (!config.tls.has_value()) {
        return grpc::InsecureServerCredentials();
    }
    grpc::SslServerCredentialsOptions options(
        GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
    ASSIGN_OR_RETURN(
        certificate::PairTexts texts,
        certificate::readPair({config.tls->certificate, config.tls->key, config.tls->authority}));
    options.pem_root_certs = std::move(texts.authorityPem);
    options.pem_key_cert_pairs.push_back(
        {std::move(texts.own.keyPem), std::move(texts.own.certificatePem)});
    auto credentials = grpc::SslServerCredentials(options);
    credentials->SetAuthMetadataProcessor(access.makeProcessor());
    return credentials;
}

// Members end in reverse order: gates, server, services, pump, pools.
class GrpcServer final : public RpcServer {
 public:
    explicit GrpcServer(RpcServerParts parts)
        : parts_(std::move(parts)), address_(parts_.config.address.text()) {}

    ~GrpcServer() override {
        gate_.reset();
        tcpGate_.reset();
        if (server_ == nullptr) {
            return;
        }
        pump_.endAll();
        // Queued calls are refused and child processes that read datasets are ended, so that no
        // call delays the end.
        for (CallPool* pool : {&slow_, &quick_, &inspects_, &previews_, &checks_}) {
            pool->end();
        }
        parts_.inspector.end();
        parts_.controller.giveUpDown();
        server_->Shutdown(std::chrono::system_clock::now() +
                          std::chrono::milliseconds(kShutdownDeadlineMs));
        server_->Wait();
    }

    Status open() {
        const Address& address = parts_.config.address;
        ASSIGN_OR_RETURN(access_, Access::open(parts_.config));
        services_.push_back(makeRunsService(parts_.runs, serviceParts()));
        services_.push_back(makeNodesService(parts_, serviceParts()));
        services_.push_back(makeDaemonService(parts_, serviceParts(), checks_));
        services_.push_back(makeInspectService(parts_.inspection, inspects_, previews_));
        grpc::ServerBuilder builder;
        setLimits(builder);
        std::shared_ptr<Acceptor> acceptor;
        if (!address.isUnix()) {
            ASSIGN_OR_RETURN(const auto credentials, credentialsOf(parts_.config, access_));
            builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS,
                                       static_cast<int>(kHandshakeTime.count()));
            acceptor = builder.experimental().AddExternalConnectionAcceptor(
                grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
                credentials);
        }
        for (const auto& service : services_) {
            builder.RegisterService(service.get());
        }
        server_ = builder.BuildAndStart();
        if (server_ == nullptr) {
            return unavailable(address.text(), ": cannot serve here; are the TLS files wrong?");
        }
        return address.isUnix() ? openUnix(address.unixPath) : openTcp(address, acceptor);
    }

    const std::string& address() const override { return address_; }

 private:
    Status openUnix(const std::string& path) {
        ASSIGN_OR_RETURN(gate_, LocalPeerGate::open(path, [this](int fd) {
                             grpc::AddInsecureChannelFromFd(server_.get(), fd);
                         }));
        return okStatus();
    }

    using Acceptor = grpc::experimental::ExternalConnectionAcceptor;
    Status openTcp(Address address, const std::shared_ptr<Acceptor>& acceptor) {
        ASSIGN_OR_RETURN(tcpGate_, TcpGate::open(address.host, address.port, [acceptor](int fd) {
                             Acceptor::NewConnectionParameters one;
                             one.fd = fd;
                             acceptor->HandleNewConnection(&one);
                         }));
        address.port = tcpGate_->port();
        address_ = address.text();
        return okStatus();
    }

    ServiceParts serviceParts() { return {quick_, slow_, down_, pump_, access_}; }

    RpcServerParts parts_;
    std::string address_;
    CallPool quick_{"calls", 2, 256};
    CallPool slow_{"submits", 2, 32};
    CallPool down_{"down", 1, 4};
    CallPool checks_{"checks", 1, 4};
    CallPool inspects_{"inspects", 2, 32};
    CallPool previews_{"previews", 1, 32};
    StreamPump pump_;
    Access access_;
    std::vector<std::unique_ptr<grpc::Service>> services_;
    std::unique_ptr<grpc::Server> server_;
    std::unique_ptr<LocalPeerGate> gate_;  // of a unix socket
    std::unique_ptr<TcpGate> tcpGate_;     // of HOST:PORT
};

}  // namespace

Result<std::unique_ptr<RpcServer>> RpcServer::start(RpcServerParts parts) {
    auto server = std::make_unique<GrpcServer>(std::move(parts));
    RETURN_IF_ERROR(server->open());
    return server;
}

}  // namespace millrace::rpc
