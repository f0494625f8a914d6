#include "daemon/nodes/agent_listener.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <deque>
#include <thread>
#include <utility>
#include <vector>

#include <unistd.h>

#include "backend/core/log.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/filesystem/paths.h"
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
using Tunnelled = transport::ServerDuplex<v1::TunnelBytes, v1::TunnelBytes>;

/// One agent's connection. The stream keeps itself alive until gRPC has released it.
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
    void shutOut(const Status& why) override {
        close(why);
        std::vector<std::weak_ptr<Tunnelled>> tunnels;
        {
            MutexLock lock(mutex_);
            isShutOut_ = true;
            tunnels.swap(tunnels_);
        }
        for (const auto& one : tunnels) {
            if (const auto tunnel = one.lock()) {
                tunnel->close(transport::toGrpc(why));
            }
        }
    }
    /// False: the session was shut out.
    bool add(const std::shared_ptr<Tunnelled>& tunnel) {
        MutexLock lock(mutex_);
        std::erase_if(tunnels_, [](const auto& one) { return one.expired(); });
        tunnels_.push_back(tunnel);
        return !isShutOut_;
    }
    bool isAttached = false;             ///< used only by the thread "agents"
    std::atomic<bool> isClosed = false;  ///< no report follows
    std::string tunnelKey;               ///< guarded by the server's mutex; "" at first

 private:
    std::weak_ptr<Stream> stream_;
    Mutex mutex_;
    bool isShutOut_ MR_GUARDED_BY(mutex_) = false;
    std::vector<std::weak_ptr<Tunnelled>> tunnels_ MR_GUARDED_BY(mutex_);  ///< that are open
};

/// Reuses the previous address and certificate, so that agents reconnect, including those of
/// invited nodes, with files elsewhere. nodes.join gets another token if a `down` has removed it.
Result<transport::JoinFile> doorFileFor(const config::DaemonConfig& config) {
    const bool isUnix = config.nodesListen == config::DaemonConfig::kUnixNodes;
    const std::string listen = isUnix ? "" : config.nodesListen;
    ASSIGN_OR_RETURN(transport::JoinFile made,
                     transport::JoinFile::make(listen, config.nodesSocket()));
    const auto before = transport::JoinFile::read(config.nodesDoorFile());
    if (!before.ok()) {
        return made;
    }
    if (::access(config.nodesJoinFile().c_str(), F_OK) == 0) {
        made.token = before->token;
    }
    if (!before->certificate.keyPem.empty()) {
        made.certificate = before->certificate;
    }
    const auto wanted = Address::parseHost(listen), last = Address::parse(before->address);
    if (wanted.ok() && last.ok() && wanted->host == last->host && wanted->port == 0) {
        made.address = before->address;
    }
    return made;
}

/// Returns the address for join files.
Result<std::string> dialled(const config::DaemonConfig& config, const std::string& bound) {
    if (config.nodesAddress.empty()) {
        return bound;
    }
    ASSIGN_OR_RETURN(Address told, Address::parseHost(config.nodesAddress));
    ASSIGN_OR_RETURN(const Address own, Address::parse(bound));
    told.port = told.port == 0 ? own.port : told.port;
    return told.text();
}

using AgentsService = v1::Agents::WithCallbackMethod_Attach<
    v1::Agents::WithCallbackMethod_Tunnel<v1::Agents::Service>>;

class ServiceListener final : public AgentListener, private AgentsService {
 public:
    ServiceListener(std::string runsDir, std::string buildId, agent::NodeTable& table,
                    agent::JoinTokens& tokens, const Clock& clock, KeepCheckpoint keep)
        : runsDir_(runsDir),
          table_(table),
          tokens_(tokens),
          transfers_(runsDir, table, std::move(keep)),
          reports_(std::move(runsDir), std::move(buildId), table, tokens, clock) {}

    Status listen(const config::DaemonConfig& config) {
        joinPath_ = config.nodesJoinFile();
        ASSIGN_OR_RETURN(file_, doorFileFor(config));
        tokens_.serve(file_.token, nullptr);  // agents may connect before the address is known
        ASSIGN_OR_RETURN(pump_, transport::SocketPump::start());
        auto server = serve();
        if (!server.ok() && !file_.isUnix()) {
            ASSIGN_OR_RETURN(const Address wanted, Address::parseHost(config.nodesListen));
            if (wanted.port == 0) {
                file_.address = wanted.text();  // another process has the previous port
                server = serve();
            }
        }
        ASSIGN_OR_RETURN(server_, std::move(server));
        RETURN_IF_ERROR(file_.writeForListener(config.nodesDoorFile()));
        ASSIGN_OR_RETURN(file_.address, dialled(config, file_.address));
        tokens_.serve(file_.token,
                      [file = file_](const std::string& node, const std::string& token) {
                          transport::JoinFile one = file;
                          one.node = node;
                          one.token = token;
                          return one.toText();
                      });
        RETURN_IF_ERROR(file_.write(joinPath_));
        thread_ = startThread("agents", [this](const std::stop_token& stop) { read(stop); });
        return okStatus();
    }
    ~ServiceListener() override {
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
        {
            MutexLock lock(mutex_);
            thread_.request_stop();
            wake_.notifyAll();
        }
        if (table_.isOver()) {
            ::unlink(joinPath_.c_str());
        }
    }
    const std::string& address() const override { return file_.address; }

 private:
    grpc::ServerBidiReactor<v1::AgentReport, v1::HeadOrders>* Attach(
        grpc::CallbackServerContext*) override {
        const auto session = std::make_shared<Session>();
        const std::shared_ptr<Stream> stream =
            Stream::start({[this, session](v1::AgentReport& report) { came(session, report); },
                           [this, session] {
                               session->isClosed = true;
                               table_.detach(*session);
                           },
                           [] {}});
        session->bind(stream);
        {
            MutexLock lock(mutex_);
            std::erase_if(sessions_, [](const auto& one) { return one.expired(); });
            sessions_.push_back(session);
        }
        stream->readNext();
        return stream.get();
    }

    // Connects a worker of a part to its attempt's rank socket.
    grpc::ServerBidiReactor<v1::TunnelBytes, v1::TunnelBytes>* Tunnel(
        grpc::CallbackServerContext* context) override {
        Result<Admitted> admitted = admit(*context);
        if (!admitted.ok()) {
            const auto refused = Tunnelled::start({[](v1::TunnelBytes&) {}, [] {}});
            refused->close(transport::toGrpc(admitted.status()));
            return refused.get();
        }
        const auto port = pump_->open(std::move(admitted->listener));
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
        if (!admitted->session->add(stream)) {
            stream->close(grpc::Status(grpc::StatusCode::UNAUTHENTICATED, "tunnel: shut out"));
        }
        pump_->attach(*port, transport::makeLink<v1::TunnelBytes>(
                                 stream, [](Tunnelled& one) { one.close(grpc::Status::OK); },
                                 [](Tunnelled&) {}));
        return stream.get();
    }

    grpc::Status HandOver(grpc::ServerContext* context,
                          grpc::ServerReaderWriter<v1::FileState, v1::FilePart>* stream) override {
        return move(*context, "hand-over", [&](const CheckpointTransfers::Caller& caller) {
            return transfers_.take(caller, *stream);
        });
    }
    grpc::Status Fetch(grpc::ServerContext* context, const v1::FileWanted* wanted,
                       grpc::ServerWriter<v1::FilePart>* stream) override {
        return move(*context, "fetch", [&](const CheckpointTransfers::Caller& caller) {
            return transfers_.give(caller, *wanted, *stream);
        });
    }

    Result<std::unique_ptr<transport::Server>> serve() {
        return transport::Server::start(
            file_, *this, [this](std::string_view token) { return tokens_.isToken(token); });
    }

    static std::string metadataOf(const grpc::ServerContextBase& context, const char* key) {
        const auto& all = context.client_metadata();
        const auto found = all.find(key);
        return found == all.end() ? "" : std::string(found->second.data(), found->second.size());
    }

    struct Admitted {
        UniqueFd listener;
        std::vector<std::string> workers;  ///< that may use it
        std::shared_ptr<Session> session;  ///< of the workers' agent
    };

    // Returns the session of the agent that attached with this key; no other node knows the key.
    std::shared_ptr<Session> sessionOf(const std::string& tunnelKey) {
        MutexLock lock(mutex_);
        // Newest first: the same agent's previous session may not be closed yet.
        for (auto one = sessions_.rbegin(); one != sessions_.rend(); ++one) {
            const auto session = one->lock();
            if (session != nullptr && session->tunnelKey.size() == kTunnelKeyBytes &&
                transport::isSameToken(session->tunnelKey, tunnelKey)) {
                return session;
            }
        }
        return nullptr;
    }

    struct Caller {
        std::shared_ptr<Session> session;
        std::string run;
        int attempt = 0;
    };

    // Finds the agent by its key; the call names one attempt.
    Result<Caller> callerOf(const grpc::ServerContextBase& context) {
        const auto session = sessionOf(metadataOf(context, "millrace-tunnel-key-bin"));
        if (session == nullptr) {
            return Status(absl::StatusCode::kUnauthenticated,
                          "of no agent that is attached; it comes again when its agent is");
        }
        const std::string text = metadataOf(context, "millrace-attempt");
        Caller caller{session, metadataOf(context, "millrace-run"), 0};
        std::from_chars(text.data(), text.data() + text.size(), caller.attempt);
        return caller;
    }

    // Only an attempt that has a part on the agent's node can name a socket here.
    Result<Admitted> admit(const grpc::CallbackServerContext& context) {
        const Result<Caller> caller = callerOf(context);
        if (!caller.ok()) {
            return annotate(caller.status(), "tunnel");
        }
        std::vector<std::string> workers =
            table_.partWorkers(*caller->session, caller->run, caller->attempt);
        if (workers.empty()) {
            return failedPrecondition("tunnel: attempt ", caller->attempt, " of run ", caller->run,
                                      " has no part on this agent's node (any more)");
        }
        const std::string path =
            job::RunPaths(runsDir_, caller->run).attempt(caller->attempt).rankSocket();
        ASSIGN_OR_RETURN(UniqueFd listener, connectUnixNonBlocking(path));
        return Admitted{std::move(listener), std::move(workers), caller->session};
    }

    // Reads and writes files on threads that may block, so these calls use gRPC's synchronous
    // interface.
    template <class Move>
    grpc::Status move(grpc::ServerContext& context, const char* what, const Move& move) {
        const Result<Caller> caller = callerOf(context);
        if (!caller.ok()) {
            return transport::toGrpc(annotate(caller.status(), what));
        }
        return transport::toGrpc(
            move(CheckpointTransfers::Caller{*caller->session, caller->run, caller->attempt,
                                             [&] { return context.IsCancelled(); }}));
    }

    // The connection's next report is read only when this one was processed.
    void came(const std::shared_ptr<Session>& session, v1::AgentReport& report) {
        table_.arrived(*session);
        MutexLock lock(mutex_);
        if (session->tunnelKey.empty()) {
            session->tunnelKey = report.attachment().tunnel_key();
        }
        waiting_.emplace_back(session, std::move(report));
        wake_.notifyAll();
    }

    void read(const std::stop_token& stop) {
        while (!stop.stop_requested()) {
            std::deque<std::pair<std::shared_ptr<Session>, v1::AgentReport>> reports;
            {
                MutexLock lock(mutex_);
                while (waiting_.empty() && !stop.stop_requested()) {
                    wake_.wait(mutex_);
                }
                reports.swap(waiting_);
            }
            for (const auto& [session, report] : reports) {
                heard(session, report);
            }
        }
    }

    void heard(const std::shared_ptr<Session>& session, const v1::AgentReport& report) {
        const Status status = session->isAttached ? reports_.heard(*session, report)
                                                  : reports_.attach(session, report);
        if (!status.ok()) {
            return session->close(status);
        }
        session->isAttached = true;
        if (session->isClosed) {  // closed before it was attached
            table_.detach(*session);
        }
        session->readNext();
    }

    const std::string runsDir_;
    agent::NodeTable& table_;
    agent::JoinTokens& tokens_;
    CheckpointTransfers transfers_;
    AgentReports reports_;
    transport::JoinFile file_;
    std::string joinPath_;
    Mutex mutex_;
    CondVar wake_;
    std::vector<std::weak_ptr<Session>> sessions_ MR_GUARDED_BY(mutex_);  ///< that are open
    std::deque<std::pair<std::shared_ptr<Session>, v1::AgentReport>> waiting_ MR_GUARDED_BY(mutex_);
    std::unique_ptr<transport::SocketPump> pump_;
    std::jthread thread_;
    std::unique_ptr<transport::Server> server_;  ///< ends first
};

}  // namespace

bool listenAsBefore(config::DaemonConfig& config) {
    const auto told = transport::JoinFile::read(config.nodesJoinFile());
    const auto listener = transport::JoinFile::read(config.nodesDoorFile());
    if (!told.ok() || !listener.ok()) {
        return false;
    }
    if (config.nodesListen.empty()) {
        const bool isUnix = listener->isUnix();
        config.nodesListen = isUnix ? config::DaemonConfig::kUnixNodes : listener->address;
        config.nodesAddress = isUnix ? "" : told->address;
    }
    return true;
}

Result<std::unique_ptr<AgentListener>> AgentListener::open(
    const config::DaemonConfig& config, std::string buildId, agent::NodeTable& table,
    agent::JoinTokens& tokens, const Clock& clock, KeepCheckpoint keep) {
    auto listener = std::make_unique<ServiceListener>(config.runsDir(), std::move(buildId), table,
                                                      tokens, clock, std::move(keep));
    RETURN_IF_ERROR(listener->listen(config));
    return listener;
}

}  // namespace millrace::nodes
