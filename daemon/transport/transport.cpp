#include "daemon/transport/transport.h"

#include <chrono>
#include <map>
#include <utility>

#include <fcntl.h>
#include <sys/socket.h>

#include <grpcpp/create_channel_posix.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/security/auth_metadata_processor.h>
#include <grpcpp/server_posix.h>

#include "backend/filesystem/paths.h"
#include "backend/system/unix_socket.h"

namespace millrace::transport {
namespace {

// A cut link is noticed after time + timeout. A stopped process still answers (its kernel does):
// missing reports show it.
constexpr int kKeepAliveTimeMs = 10'000;
constexpr int kKeepAliveTimeoutMs = 10'000;
constexpr int kReconnectMs = 100;
constexpr std::chrono::milliseconds kShutdownTime{1'500};
// Chunks are 4 MiB; the facts of a segment with very many frames are larger.
constexpr int kMessageBytesMost = 64 << 20;
// Large data frames are cheaper: each has a header and a lookup.
constexpr int kHttpFrameBytes = 1 << 20;
// Size of one read, and of the kernel's buffer for a unix socket. The defaults of 8 and 208 KB
// would wake the other side for every few pages of a frame.
constexpr int kReadBytes = 1 << 20;
constexpr int kSocketBytes = 4 << 20;

constexpr char kTokenKey[] = "millrace-join-token-bin";

/// Client side: adds the token to each call.
class TokenSender final : public grpc::MetadataCredentialsPlugin {
 public:
    explicit TokenSender(std::string token) : token_(std::move(token)) {}
    bool IsBlocking() const override { return false; }
    grpc::Status GetMetadata(grpc::string_ref, grpc::string_ref, const grpc::AuthContext&,
                             std::multimap<grpc::string, grpc::string>* metadata) override {
        metadata->emplace(kTokenKey, token_);
        return grpc::Status::OK;
    }

 private:
    const std::string token_;
};

/// Server side: rejects calls with a wrong token before they reach a service.
class TokenAuthentication final : public grpc::AuthMetadataProcessor {
 public:
    explicit TokenAuthentication(TokenCheck isToken) : isToken_(std::move(isToken)) {}
    bool IsBlocking() const override { return false; }
    grpc::Status Process(const InputMetadata& metadata, grpc::AuthContext*,
                         OutputMetadata* consumed, OutputMetadata*) override {
        const auto token = metadata.find(kTokenKey);
        if (token == metadata.end() || !isToken_({token->second.data(), token->second.size()})) {
            return {grpc::StatusCode::UNAUTHENTICATED,
                    "another token; the join file is of another listener or attempt, was changed, "
                    "or has been revoked"};
        }
        consumed->emplace(kTokenKey, std::string(token->second.data(), token->second.size()));
        return grpc::Status::OK;
    }

 private:
    const TokenCheck isToken_;
};

template <class Arguments>
void setLimits(Arguments&& set) {
    set(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveTimeMs);
    set(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeoutMs);
    set(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    set(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, kKeepAliveTimeMs / 2);
    set(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
    set(GRPC_ARG_HTTP2_MAX_FRAME_SIZE, kHttpFrameBytes);
    set(GRPC_ARG_HTTP2_STREAM_LOOKAHEAD_BYTES, kMessageBytesMost / 4);
    set(GRPC_ARG_TCP_READ_CHUNK_SIZE, kReadBytes);
    set(GRPC_ARG_TCP_MAX_READ_CHUNK_SIZE, kReadBytes);
}

// Widens the buffer as far as the system allows (net.core.wmem_max); a smaller buffer is slower,
// but not an error.
void widen(int fd) {
    for (const int option : {SO_SNDBUF, SO_RCVBUF}) {
        ::setsockopt(fd, SOL_SOCKET, option, &kSocketBytes, sizeof kSocketBytes);
    }
}

grpc::ChannelArguments channelArguments() {
    grpc::ChannelArguments arguments;
    setLimits([&](const char* name, int value) { arguments.SetInt(name, value); });
    arguments.SetMaxReceiveMessageSize(kMessageBytesMost);
    // A channel that many calls share then notices a returned head as soon as its calls do.
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, kReconnectMs);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 10 * kReconnectMs);
    // Makes each channel use a connection of its own.
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    arguments.SetSslTargetNameOverride(kCertificateName);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);  // a proxy has no way into the cluster
    return arguments;
}

/// gRPC (1.51) ends the threads of its callbacks with the last channel that had callbacks. It
/// aborts if one of these threads releases that channel, which can happen at a call's end. A
/// channel that is never released keeps the threads: it has no address, and its call fails at once.
void keepCallbackThreads() {
    struct Kept {
        std::shared_ptr<grpc::Channel> channel =
            grpc::CreateChannel("unix:/dev/null", grpc::InsecureChannelCredentials());
        grpc::GenericStub stub{channel};
        grpc::ClientContext context;
        grpc::Slice nothing;
        grpc::ByteBuffer request{&nothing, 1}, response;
        Kept() {
            stub.UnaryCall(&context, "/millrace/None", {}, &request, &response,
                           [](grpc::Status) {});
        }
    };
    static const auto* const kKept = new Kept();
    static_cast<void>(kKept);
}

}  // namespace

Result<std::shared_ptr<grpc::Channel>> openChannel(const JoinFile& file) {
    keepCallbackThreads();
    if (file.isUnix()) {
        ASSIGN_OR_RETURN(UniqueFd fd, connectOwnUnix(file.unixPath()));
        ::fcntl(fd.get(), F_SETFL, ::fcntl(fd.get(), F_GETFL) | O_NONBLOCK);
        widen(fd.get());
        return grpc::CreateCustomInsecureChannelFromFd(kCertificateName, fd.release(),
                                                       channelArguments());
    }
    grpc::SslCredentialsOptions options;
    options.pem_root_certs = file.certificate.certificatePem;
    auto sender =
        std::make_unique<TokenSender>(file.relayToken.empty() ? file.token : file.relayToken);
    return grpc::CreateCustomChannel(
        file.address,
        grpc::CompositeChannelCredentials(
            grpc::SslCredentials(options),
            grpc::MetadataCredentialsFromPlugin(
                std::unique_ptr<grpc::MetadataCredentialsPlugin>(std::move(sender)))),
        channelArguments());
}

Result<std::shared_ptr<grpc::Channel>> SharedChannel::open(const JoinFile& file) {
    if (file.isUnix()) {
        return openChannel(file);
    }
    std::string text = file.toText();
    MutexLock lock(mutex_);
    if (channel_ == nullptr || text != text_) {
        ASSIGN_OR_RETURN(channel_, openChannel(file));
        text_ = std::move(text);
    }
    return channel_;
}

Result<std::unique_ptr<Server>> Server::start(JoinFile& file, grpc::Service& service,
                                              TokenCheck isToken) {
    std::unique_ptr<Server> made(new Server());
    grpc::ServerBuilder builder;
    setLimits([&](const char* name, int value) { builder.AddChannelArgument(name, value); });
    builder.SetMaxReceiveMessageSize(kMessageBytesMost);
    builder.RegisterService(&service);
    std::shared_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
    if (!file.isUnix()) {
        grpc::SslServerCredentialsOptions options(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
        options.pem_key_cert_pairs.push_back(
            {file.certificate.keyPem, file.certificate.certificatePem});
        const auto credentials = grpc::SslServerCredentials(options);
        credentials->SetAuthMetadataProcessor(
            std::make_shared<TokenAuthentication>(std::move(isToken)));
        for (const char* time :
             {GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, GRPC_ARG_MAX_CONNECTION_IDLE_MS}) {
            builder.AddChannelArgument(time, static_cast<int>(kHandshakeTime.count()));
        }
        acceptor = builder.experimental().AddExternalConnectionAcceptor(
            grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
    }
    made->server_ = builder.BuildAndStart();
    if (made->server_ == nullptr) {
        return unavailable(file.address, ": gRPC cannot serve here");
    }
    if (file.isUnix()) {
        ASSIGN_OR_RETURN(made->gate_, LocalPeerGate::open(
                                          file.unixPath(), [server = made->server_.get()](int fd) {
                                              widen(fd);
                                              grpc::AddInsecureChannelFromFd(server, fd);
                                          }));
        return made;
    }
    ASSIGN_OR_RETURN(Address address, Address::parse(file.address));
    ASSIGN_OR_RETURN(
        made->tcpGate_, TcpGate::open(address.host, address.port, [acceptor](int fd) {
            grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters one;
            one.fd = fd;
            acceptor->HandleNewConnection(&one);
        }));
    address.port = made->tcpGate_->port();
    file.address = address.text();
    return made;
}

Server::~Server() {
    gate_.reset();
    tcpGate_.reset();
    if (server_ != nullptr) {
        server_->Shutdown(std::chrono::system_clock::now() + kShutdownTime);
        server_->Wait();
    }
}

Status toStatus(const grpc::Status& status) {
    return status.ok()
               ? okStatus()
               : Status(static_cast<absl::StatusCode>(status.error_code()), status.error_message());
}

grpc::Status toGrpc(const Status& status) {
    return grpc::Status(static_cast<grpc::StatusCode>(status.code()),
                        std::string(messageOf(status)));
}

}  // namespace millrace::transport
