#include "daemon/nodes/agents_door.h"

#include <algorithm>
#include <charconv>
#include <vector>

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/mutex.h"
#include "backend/job/attempt_paths.h"
#include "backend/system/unix_socket.h"
#include "daemon/nodes/agent_reports.h"
#include "daemon/nodes/messages.h"
#include "daemon/nodes/rank_tunnel.h"
#include "daemon/nodes/tunnel_greeting.h"
#include "daemon/transport/duplex.h"
#include "daemon/transport/socket_pump.h"
#include "daemon/transport/transport.h"
#include "millrace/v1/agent.grpc.pb.h"

namespace millrace::nodes {
namespace {

using Stream = transport::ServerDuplex<v1::AgentReport, v1::HeadOrders>;

/// One agent's connection. The stream keeps itself until gRPC has let go of it.
class Session final : public agent::NodeSession {
 public:
    void send(const agent::NodeOrders& orders) override {
        if (const auto stream = stream_.lock()) {
            stream->send(toProto(orders));
        }
    }
    void bind(const std::shared_ptr<Stream>& stream) { stream_ = stream; }
    void readNext() {
        if (const auto stream = stream_.lock()) {
            stream->readNext();
        }
    }
    void close(const Status& why) {
        if (const auto stream = stream_.lock()) {
            stream->close(transport::toGrpc(why));
        }
    }
    bool isAttached = false;  ///< of gRPC's thread for this stream's messages
    std::string tunnelKey;    ///< of the door's mutex; "" before its first report

 private:
    std::weak_ptr<Stream> stream_;
};

/// The address of before, so that agents come back to it.
Result<transport::JoinFile> joinFileFor(const config::DaemonConfig& config) {
    const bool isUnix = config.nodesListen == config::DaemonConfig::kUnixNodes;
    const std::string listen = isUnix ? "" : config.nodesListen;
    auto before = transport::JoinFile::read(config.nodesJoinFile());
    ASSIGN_OR_RETURN(transport::JoinFile made,
                     transport::JoinFile::make(listen, config.nodesSocket()));
    const std::string host = made.address.substr(0, made.address.rfind(':') + 1);
    const bool isFree = made.address.ends_with(":0");
    if (!before.ok() || before->isUnix() != isUnix || !before->address.starts_with(host) ||
        (!isFree && before->address != made.address)) {
        return made;
    }
    return before;
}

}  // namespace

std::string listenedBefore(const config::DaemonConfig& config) {
    const auto before = transport::JoinFile::read(config.nodesJoinFile());
    return !before.ok()       ? ""
           : before->isUnix() ? std::string(config::DaemonConfig::kUnixNodes)
                              : before->address;
}

class AgentsDoor::Impl final : public v1::Agents::WithCallbackMethod_Attach<
                                   v1::Agents::WithCallbackMethod_Tunnel<v1::Agents::Service>> {
 public:
    Impl(std::string runsDir, std::string buildId, agent::NodeTable& table, const Clock& clock)
        : runsDir_(runsDir),
          table_(table),
          reports_(std::move(runsDir), std::move(buildId), table, clock) {}

    Status open(const config::DaemonConfig& config) {
        joinPath_ = config.nodesJoinFile();
        ASSIGN_OR_RETURN(file_, joinFileFor(config));
        reports_.setToken(file_.token);
        ASSIGN_OR_RETURN(pump_, transport::SocketPump::start());
        auto server = transport::Server::start(file_, *this);
        if (!server.ok() && !file_.isUnix() && config.nodesListen.find(':') == std::string::npos) {
            file_.address = config.nodesListen + ":0";  // another has the port of before
            server = transport::Server::start(file_, *this);
        }
        ASSIGN_OR_RETURN(server_, std::move(server));
        return file_.write(joinPath_);
    }
    void end() {
        std::vector<std::weak_ptr<Session>> sessions;
        {
            MutexLock lock(mutex_);
            sessions.swap(sessions_);
        }
        for (const auto& one : sessions) {
            if (const auto session = one.lock()) {
                session->close(unavailable("the head ends; another one may follow"));
            }
        }
        server_.reset();
        if (table_.isOver()) {
            ::unlink(joinPath_.c_str());
        }
    }
    const std::string& address() const { return file_.address; }

    grpc::ServerBidiReactor<v1::AgentReport, v1::HeadOrders>* Attach(
        grpc::CallbackServerContext*) override {
        const auto session = std::make_shared<Session>();
        const std::shared_ptr<Stream> stream =
            Stream::start({[this, session](v1::AgentReport& report) { heard(session, report); },
                           [this, session] { table_.detach(*session); }, [] {}});
        session->bind(stream);
        {
            MutexLock lock(mutex_);
            std::erase_if(sessions_, [](const auto& one) { return one.expired(); });
            sessions_.push_back(session);
        }
        stream->readNext();
        return stream.get();
    }

    // A worker of a part speaks with its attempt's door.
    grpc::ServerBidiReactor<v1::TunnelBytes, v1::TunnelBytes>* Tunnel(
        grpc::CallbackServerContext* context) override {
        Result<Admitted> admitted = admit(*context);
        if (!admitted.ok()) {
            const auto refused = Tunnelled::start({[](v1::TunnelBytes&) {}, [] {}});
            refused->close(transport::toGrpc(admitted.status()));
            return refused.get();
        }
        const auto port = pump_->open(std::move(admitted->door));
        const auto greeting = std::make_shared<TunnelGreeting>(std::move(admitted->workers));
        const auto place = std::make_shared<std::weak_ptr<Tunnelled>>();
        const std::shared_ptr<Tunnelled> stream = Tunnelled::start(
            {[port, greeting, place](v1::TunnelBytes& bytes) {
                 Result<std::string> passed = greeting->take(std::move(*bytes.mutable_data()));
                 if (passed.ok()) {
                     port->received(std::move(*passed));
                 } else if (const auto self = place->lock()) {
                     logWarn("nodes: refused a tunnel", {{"why", messageOf(passed.status())}});
                     self->close(transport::toGrpc(passed.status()));
                 }
             },
             [port] { port->closed(); }, [port] { port->written(); }});
        *place = stream;
        pump_->attach(*port, transport::makeLink<v1::TunnelBytes>(
                                 stream, [](Tunnelled& one) { one.close(grpc::Status::OK); },
                                 [](Tunnelled&) {}));
        return stream.get();
    }

 private:
    using Tunnelled = transport::ServerDuplex<v1::TunnelBytes, v1::TunnelBytes>;

    static std::string metadataOf(const grpc::CallbackServerContext& context, const char* key) {
        const auto& all = context.client_metadata();
        const auto found = all.find(key);
        return found == all.end() ? "" : std::string(found->second.data(), found->second.size());
    }

    struct Admitted {
        UniqueFd door;
        std::vector<std::string> workers;  ///< that may speak with it
    };

    // Of the agent that is attached with this key: no other node knows it.
    std::shared_ptr<Session> sessionOf(const std::string& tunnelKey) {
        MutexLock lock(mutex_);
        // The newest first: the one before, of the same agent, may not be closed yet.
        for (auto one = sessions_.rbegin(); one != sessions_.rend(); ++one) {
            const auto session = one->lock();
            if (session != nullptr && session->tunnelKey.size() == kTunnelKeyBytes &&
                transport::isSameToken(session->tunnelKey, tunnelKey)) {
                return session;
            }
        }
        return nullptr;
    }

    // The token first; only an attempt that has a part on the agent's node names a socket here.
    Result<Admitted> admit(const grpc::CallbackServerContext& context) {
        if (!transport::isSameToken(metadataOf(context, "millrace-token-bin"), file_.token)) {
            return Status(absl::StatusCode::kUnauthenticated, "tunnel: another token");
        }
        const auto session = sessionOf(metadataOf(context, "millrace-tunnel-key-bin"));
        if (session == nullptr) {
            return Status(absl::StatusCode::kUnauthenticated,
                          "tunnel: of no agent that is attached; it comes again when its agent is");
        }
        const std::string run = metadataOf(context, "millrace-run");
        const std::string text = metadataOf(context, "millrace-attempt");
        int attempt = 0;
        const auto read = std::from_chars(text.data(), text.data() + text.size(), attempt);
        std::vector<std::string> workers;
        if (read.ec == std::errc()) {
            workers = table_.partWorkers(*session, run, attempt);
        }
        if (workers.empty()) {
            return failedPrecondition("tunnel: attempt ", text, " of run ", run,
                                      " has no part on this agent's node (any more)");
        }
        const std::string path = job::RunPaths(runsDir_, run).attempt(attempt).rankSocket();
        ASSIGN_OR_RETURN(UniqueFd door, connectUnixNonBlocking(path));
        return Admitted{std::move(door), std::move(workers)};
    }

    void heard(const std::shared_ptr<Session>& session, const v1::AgentReport& report) {
        if (!session->isAttached) {
            MutexLock lock(mutex_);
            session->tunnelKey = report.attachment().tunnel_key();
        }
        const Status status = session->isAttached ? reports_.heard(*session, report)
                                                  : reports_.attach(session, report);
        if (!status.ok()) {
            return session->close(status);
        }
        session->isAttached = true;
        session->readNext();
    }

    const std::string runsDir_;
    agent::NodeTable& table_;
    AgentReports reports_;
    transport::JoinFile file_;
    std::string joinPath_;
    Mutex mutex_;
    std::vector<std::weak_ptr<Session>> sessions_ MR_GUARDED_BY(mutex_);  ///< that are open
    std::unique_ptr<transport::SocketPump> pump_;
    std::unique_ptr<transport::Server> server_;  ///< ends first
};

AgentsDoor::AgentsDoor(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

AgentsDoor::~AgentsDoor() {
    impl_->end();
}

Result<std::unique_ptr<AgentsDoor>> AgentsDoor::open(const config::DaemonConfig& config,
                                                     std::string buildId, agent::NodeTable& table,
                                                     const Clock& clock) {
    auto impl = std::make_unique<Impl>(config.runsDir(), std::move(buildId), table, clock);
    RETURN_IF_ERROR(impl->open(config));
    return std::unique_ptr<AgentsDoor>(new AgentsDoor(std::move(impl)));
}

const std::string& AgentsDoor::address() const {
    return impl_->address();
}

}  // namespace millrace::nodes
