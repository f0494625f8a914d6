#include "app/client/grpc_client.h"

#include <chrono>
#include <cstdlib>
#include <set>
#include <utility>

#include <fcntl.h>
#include <grpc/support/log.h>

#include <grpcpp/create_channel.h>
#include <grpcpp/create_channel_posix.h>
#include <grpcpp/grpcpp.h>

#include "app/client/connection_reason.h"
#include "app/client/message_text.h"
#include "backend/certificate/certificate.h"
#include "backend/core/mutex.h"
#include "backend/core/thread.h"
#include "backend/system/unix_socket.h"
#include "millrace/v1/daemon.grpc.pb.h"
#include "millrace/v1/inspect.grpc.pb.h"
#include "millrace/v1/nodes.grpc.pb.h"
#include "millrace/v1/runs.grpc.pb.h"
#include "proto/convert/daemon_convert.h"
#include "proto/convert/detail_convert.h"
#include "proto/convert/enum_convert.h"
#include "proto/convert/inspect_convert.h"
#include "proto/convert/log_convert.h"
#include "proto/convert/metric_convert.h"
#include "proto/convert/node_convert.h"
#include "proto/convert/rpc_options.h"
#include "proto/convert/run_convert.h"
#include "proto/convert/submit_convert.h"

namespace millrace::client {
namespace {

// The daemon may have to read a dataset's footers, or to remove many gigabytes.
constexpr int kReadingMs = rpc::kSubmitDeadlineMs;

using ChannelPtr = std::shared_ptr<grpc::Channel>;

grpc::ChannelArguments channelArguments() {
    grpc::ChannelArguments arguments;
    arguments.SetMaxReceiveMessageSize(rpc::kMaxMessageBytes);
    arguments.SetMaxSendMessageSize(rpc::kMaxMessageBytes);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, rpc::kKeepAliveTimeMs);
    arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, rpc::kKeepAliveTimeoutMs);
    arguments.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 200);
    arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 2'000);
    arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
    return arguments;
}

Result<std::shared_ptr<grpc::ChannelCredentials>> credentialsOf(const ClientTlsFiles& files) {
    if (files.authority.empty() && files.certificate.empty() && files.key.empty()) {
        return grpc::InsecureChannelCredentials();
    }
    if (files.authority.empty() || files.certificate.empty() || files.key.empty()) {
        return invalidArgument(
            "MILLRACE_TLS_CA, MILLRACE_TLS_CERT and MILLRACE_TLS_KEY belong together: set all "
            "three");
    }
    grpc::SslCredentialsOptions options;
    ASSIGN_OR_RETURN(certificate::PairTexts texts,
                     certificate::readPair({files.certificate, files.key, files.authority}));
    options.pem_root_certs = std::move(texts.authorityPem);
    options.pem_cert_chain = std::move(texts.own.certificatePem);
    options.pem_private_key = std::move(texts.own.keyPem);
    return grpc::SslCredentials(options);
}

Status noDaemon(const Address& address, std::string_view why) {
    return unavailable(
        "no daemon answers at ", address.text(), " (", why,
        address.isUnix() ? "); 'millrace up' starts one" : "); check --host, or start one there");
}

bool isDaemonsWord(const grpc::Status& status) {
    return status.error_details() == rpc::kDaemonsWord;
}

// Codes are the same numbers on both sides. The daemon's own messages are passed on unchanged;
// gRPC's messages, of either end, become sentences that help.
Status toStatus(const grpc::Status& from, const Address& address, bool hasTls) {
    if (from.ok()) {
        return okStatus();
    }
    if (isDaemonsWord(from)) {
        return Status(static_cast<absl::StatusCode>(from.error_code()), from.error_message());
    }
    if (from.error_code() == grpc::StatusCode::UNAVAILABLE) {
        return noDaemon(address, reasonOf(from.error_message(), hasTls));
    }
    if (from.error_code() == grpc::StatusCode::DEADLINE_EXCEEDED) {
        return deadlineExceeded("the daemon at ", address.text(), " did not answer in time");
    }
    if (from.error_code() == grpc::StatusCode::UNIMPLEMENTED) {
        return Status(absl::StatusCode::kUnimplemented,
                      strCat("the daemon at ", address.text(), " does not know this request (",
                             from.error_message(),
                             "); it is older than this millrace: 'millrace "
                             "down', then 'millrace up'"));
    }
    return Status(static_cast<absl::StatusCode>(from.error_code()), from.error_message());
}

// Turns the end of a call or stream into the status that is returned.
using Explain = std::function<Status(const grpc::Status&, const std::stop_token&)>;

// A server stream that a thread of its own reads.
template <class Message, class Value>
class StreamReader final : public Subscription {
 public:
    using Reader = std::unique_ptr<grpc::ClientReader<Message>>;
    StreamReader(std::string name, ChannelPtr channel, Explain explain,
                 std::function<Reader(const ChannelPtr&, grpc::ClientContext*)> open,
                 StreamHandler<Value> handler)
        : thread_(startThread(
              std::move(name),
              [this, channel = std::move(channel), explain = std::move(explain),
               open = std::move(open), handler = std::move(handler)](std::stop_token stop) {
                  const Reader reader = open(channel, &context_);
                  Message message;
                  while (reader->Read(&message)) {
                      handler.onItem(convert::fromProto(message));
                  }
                  handler.onEnd(explain(reader->Finish(), stop));
              })) {}
    ~StreamReader() override { context_.TryCancel(); }
    void cancel() override { context_.TryCancel(); }

 private:
    grpc::ClientContext context_;  // before the thread: outlives it
    std::jthread thread_;
};

// Replaces a stream that has no connection to be opened on: ends at once with the failure.
template <class Value>
class FailedStream final : public Subscription {
 public:
    FailedStream(Status status, StreamHandler<Value> handler)
        : thread_(
              startThread("mr-failed", [status = std::move(status), handler = std::move(handler)](
                                           std::stop_token) { handler.onEnd(status); })) {}
    void cancel() override {}

 private:
    std::jthread thread_;
};

class GrpcClient final : public DaemonClient {
 public:
    explicit GrpcClient(GrpcClientOptions options) : options_(std::move(options)) {}

    void cancelAll() override MR_EXCLUDES(mutex_) {
        stop_.request_stop();
        MutexLock lock(mutex_);
        isCancelled_ = true;
        for (grpc::ClientContext* context : underWay_) {
            context->TryCancel();
        }
    }

    std::string address() const override { return options_.address.text(); }

    Result<values::Handshake> handshake() override {
        v1::HandshakeRequest request;
        request.set_client(options_.clientName);
        request.set_protocol_version(rpc::kProtocolVersion);
        ASSIGN_OR_RETURN(const v1::HandshakeResponse reply,
                         call<v1::Nodes>(&v1::Nodes::Stub::Handshake, request));
        if (reply.protocol_version() > rpc::kProtocolVersion) {
            return failedPrecondition("the daemon at ", address(), " (millraced ", reply.version(),
                                      ") speaks protocol ", reply.protocol_version(),
                                      ", this millrace speaks ", rpc::kProtocolVersion,
                                      ": update millrace");
        }
        return convert::fromProto(reply);
    }

    Result<values::DaemonStatus> status() override {
        return ask<v1::Daemon>(&v1::Daemon::Stub::Status, v1::DaemonStatusRequest());
    }

    Result<values::DownReport> down(int graceSeconds) override {
        v1::DownRequest request;
        request.set_grace_seconds(static_cast<std::uint32_t>(graceSeconds));
        return ask<v1::Daemon>(&v1::Daemon::Stub::Down, request, stopMs(graceSeconds));
    }

    Result<values::StoreCheck> checkStore(bool isWhole) override {
        v1::CheckStoreRequest request;
        request.set_whole(isWhole);
        return ask<v1::Daemon>(&v1::Daemon::Stub::CheckStore, request, rpc::kCheckStoreDeadlineMs);
    }

    Result<values::SubmitReply> submit(const values::SubmitRequest& request) override {
        return ask<v1::Runs>(&v1::Runs::Stub::Submit, convert::toProto(request), kReadingMs);
    }

    Result<values::RunPage> list(const values::ListRequest& request) override {
        return ask<v1::Runs>(&v1::Runs::Stub::List, convert::toProto(request));
    }

    Result<values::RunDetail> get(const std::string& run) override {
        v1::GetRunRequest request;
        request.set_run(run);
        return ask<v1::Runs>(&v1::Runs::Stub::Get, request);
    }

    // Read in pieces; starts over if the receipt was replaced meanwhile.
    Result<std::string> document(const std::string& run, values::LargeDocument which) override {
        v1::DocumentRequest request;
        request.set_run(run);
        request.set_document(convert::toProto(which));
        std::string text, hash;
        for (int restarts = 0; restarts < 3;) {
            request.set_offset(text.size());
            ASSIGN_OR_RETURN(const auto reply, call<v1::Runs>(&v1::Runs::Stub::Document, request));
            if (!text.empty() && reply.hash() != hash) {
                text.clear();
                ++restarts;
                continue;
            }
            hash = reply.hash();
            text += reply.piece();
            if (text.size() >= reply.total_bytes() || reply.piece().empty()) {
                return text;
            }
        }
        return unavailable("run ", run, ": its receipt changed while it was read; try again");
    }

    Result<values::MetricHistory> metricRange(const values::MetricRangeRequest& request) override {
        return ask<v1::Runs>(&v1::Runs::Stub::MetricRange, convert::toProto(request));
    }

    Result<values::RunSummary> stop(const std::string& run, int graceSeconds,
                                    const std::string& reason) override {
        v1::StopRunRequest request;
        request.set_run(run);
        request.set_grace_seconds(static_cast<std::uint32_t>(graceSeconds));
        request.set_reason(reason);
        return askRun(&v1::Runs::Stub::Stop, request, stopMs(graceSeconds));
    }

    Result<values::RunSummary> resume(const std::string& run, std::int64_t step,
                                      const values::RankCount& wish) override {
        v1::ResumeRunRequest request;
        request.set_run(run);
        request.set_step(step);
        request.set_ranks(static_cast<std::uint32_t>(wish.ranks));
        request.set_nodes(static_cast<std::uint32_t>(wish.nodes));
        return askRun(&v1::Runs::Stub::Resume, request);
    }

    Result<values::RemovedRun> remove(const std::string& run, bool isForGood) override {
        v1::DeleteRunRequest request;
        request.set_run(run);
        request.set_purge(isForGood);
        return ask<v1::Runs>(&v1::Runs::Stub::Delete, request, kReadingMs);
    }

    Result<values::RunSummary> restore(const std::string& run) override {
        v1::RestoreRunRequest request;
        request.set_run(run);
        return askRun(&v1::Runs::Stub::Restore, request);
    }

    Result<values::RunSummary> setNote(const std::string& run, const std::string& note) override {
        v1::SetNoteRequest request;
        request.set_run(run);
        request.set_note(note);
        return askRun(&v1::Runs::Stub::SetNote, request);
    }

    Result<values::RunSummary> setTags(const std::string& run,
                                       const std::map<std::string, std::string>& set,
                                       const std::vector<std::string>& remove) override {
        v1::SetTagsRequest request;
        request.set_run(run);
        for (const auto& [key, value] : set) {
            (*request.mutable_set())[key] = value;
        }
        request.mutable_remove()->Add(remove.begin(), remove.end());
        return askRun(&v1::Runs::Stub::SetTags, request);
    }

    Result<values::FilterCheck> parseFilter(const std::string& filter) override {
        v1::ParseFilterRequest request;
        request.set_filter(filter);
        return ask<v1::Runs>(&v1::Runs::Stub::ParseFilter, request);
    }

    Result<values::CheckReply> check(const values::CheckRequest& request) override {
        return ask<v1::Inspect>(&v1::Inspect::Stub::Check, convert::toProto(request), kReadingMs);
    }

    Result<values::DatasetReply> dataset(const values::DatasetRequest& request) override {
        return ask<v1::Inspect>(&v1::Inspect::Stub::Dataset, convert::toProto(request), kReadingMs);
    }

    Result<values::StepsReply> steps(const values::StepsRequest& request) override {
        return ask<v1::Inspect>(&v1::Inspect::Stub::Steps, convert::toProto(request), kReadingMs);
    }

    Result<values::PreviewReply> preview(const values::PreviewRequest& request,
                                         std::stop_token stop) override {
        return ask<v1::Inspect>(&v1::Inspect::Stub::Preview, convert::toProto(request), kReadingMs,
                                std::move(stop));
    }

    Result<values::PairReply> pair(const values::PairRequest& request) override {
        return ask<v1::Inspect>(&v1::Inspect::Stub::Pair, convert::toProto(request), kReadingMs);
    }

    Result<std::vector<values::NodeInfo>> nodes() override {
        ASSIGN_OR_RETURN(const auto reply,
                         call<v1::Nodes>(&v1::Nodes::Stub::List, v1::ListNodesRequest()));
        std::vector<values::NodeInfo> all;
        for (const auto& node : reply.nodes()) {
            all.push_back(convert::fromProto(node));
        }
        return all;
    }

    Status drain(const std::string& node, bool isBack) override {
        v1::DrainNodeRequest request;
        request.set_name(node);
        request.set_is_back(isBack);
        return call<v1::Nodes>(&v1::Nodes::Stub::Drain, request).status();
    }

    Result<std::string> invite(const std::string& node) override {
        v1::InviteNodeRequest request;
        request.set_name(node);
        ASSIGN_OR_RETURN(const auto reply, call<v1::Nodes>(&v1::Nodes::Stub::Invite, request));
        return reply.join_file();
    }

    Status forget(const std::string& node) override {
        v1::ForgetNodeRequest request;
        request.set_name(node);
        return call<v1::Nodes>(&v1::Nodes::Stub::Forget, request).status();
    }

    std::unique_ptr<Subscription> watchRuns(const std::vector<std::string>& runs,
                                            StreamHandler<values::RunUpdate> handler) override {
        v1::WatchRunsRequest request;
        request.mutable_runs()->Add(runs.begin(), runs.end());
        return stream<v1::Runs>("mr-runs", &v1::Runs::Stub::Watch, request, std::move(handler));
    }

    std::unique_ptr<Subscription> watchMetrics(
        const values::MetricsRequest& request,
        StreamHandler<values::MetricChunk> handler) override {
        return stream<v1::Runs>("mr-metrics", &v1::Runs::Stub::WatchMetrics,
                                convert::toProto(request), std::move(handler));
    }

    std::unique_ptr<Subscription> logs(const values::LogsRequest& request,
                                       StreamHandler<values::LogChunk> handler) override {
        return stream<v1::Runs>("mr-logs", &v1::Runs::Stub::Logs, convert::toProto(request),
                                std::move(handler));
    }

    std::unique_ptr<Subscription> watchTelemetry(
        const std::string& node, StreamHandler<values::NodeSample> handler) override {
        v1::WatchTelemetryRequest request;
        request.set_node(node);
        return stream<v1::Nodes>("mr-telemetry", &v1::Nodes::Stub::WatchTelemetry, request,
                                 std::move(handler));
    }

 private:
    // Returns the value that a call's reply stands for.
    template <class Service, class Stub, class Request, class Reply>
    auto ask(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
             const Request& request, int deadlineMs = rpc::kUnaryDeadlineMs,
             const std::stop_token& stop = {})
        -> Result<decltype(convert::fromProto(std::declval<Reply>()))> {
        ASSIGN_OR_RETURN(const Reply reply, call<Service>(method, request, deadlineMs, stop));
        return convert::fromProto(reply);
    }

    // Returns the run in a call's reply.
    template <class Request, class Reply>
    Result<values::RunSummary> askRun(
        grpc::Status (v1::Runs::Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
        const Request& request, int deadlineMs = rpc::kUnaryDeadlineMs) {
        ASSIGN_OR_RETURN(const Reply reply, call<v1::Runs>(method, request, deadlineMs));
        return convert::fromProto(reply.run());
    }

    static int stopMs(int graceSeconds) {
        return (graceSeconds > 0 ? graceSeconds : rpc::kDefaultGraceSeconds) * 1000 +
               rpc::kStopExtraMs;
    }

    Result<ChannelPtr> connect() MR_EXCLUDES(mutex_) {
        {
            MutexLock lock(mutex_);
            if (channel_ != nullptr) {
                return channel_;
            }
        }
        ASSIGN_OR_RETURN(ChannelPtr made, newChannel());
        MutexLock lock(mutex_);
        channel_ = made;
        return made;
    }

    Result<ChannelPtr> newChannel() const {
        const Address& to = options_.address;
        if (to.isSsh) {
            ASSIGN_OR_RETURN(UniqueFd fd, options_.way.dial(stop_.get_token()));
            return channelOn(std::move(fd));
        }
        if (!to.isUnix()) {
            ASSIGN_OR_RETURN(const auto credentials, credentialsOf(options_.tls));
            return grpc::CreateCustomChannel(to.text(), credentials, channelArguments());
        }
        Result<UniqueFd> fd = connectOwnUnix(to.unixPath);
        if (!fd.ok()) {
            return fd.status().code() == absl::StatusCode::kPermissionDenied
                       ? fd.status()
                       : noDaemon(to, fd.status().code() == absl::StatusCode::kNotFound
                                          ? "there is no such socket"
                                          : "nobody listens there");
        }
        return channelOn(std::move(*fd));
    }

    static ChannelPtr channelOn(UniqueFd fd) {
        ::fcntl(fd.get(), F_SETFL, O_NONBLOCK);
        return grpc::CreateCustomInsecureChannelFromFd("millraced", fd.release(),
                                                       channelArguments());
    }

    // The status to return for a call or stream that ended with `status`.
    Status explained(const grpc::Status& status, const std::stop_token& stop) const {
        const bool wasClosed =
            status.error_code() == grpc::StatusCode::UNAVAILABLE && !isDaemonsWord(status);
        return options_.address.isSsh && wasClosed
                   ? options_.way.whyClosed(stop)
                   : toStatus(status, options_.address, !options_.tls.authority.empty());
    }

    // A broken channel on a descriptor never recovers: the next call makes another one.
    bool dropIfBroken(const grpc::Status& status, const ChannelPtr& used) MR_EXCLUDES(mutex_) {
        if (status.error_code() != grpc::StatusCode::UNAVAILABLE || isDaemonsWord(status) ||
            (!options_.address.isUnix() && !options_.address.isSsh)) {
            return false;
        }
        MutexLock lock(mutex_);
        if (channel_ == used) {
            channel_ = nullptr;
        }
        return true;
    }

    // Returns false after cancelAll().
    bool begin(grpc::ClientContext* context) MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        if (!isCancelled_) {
            underWay_.insert(context);
        }
        return !isCancelled_;
    }
    void end(grpc::ClientContext* context) MR_EXCLUDES(mutex_) {
        MutexLock lock(mutex_);
        underWay_.erase(context);
    }

    template <class Service, class Stub, class Request, class Reply>
    Result<Reply> call(grpc::Status (Stub::*method)(grpc::ClientContext*, const Request&, Reply*),
                       const Request& request, int deadlineMs = rpc::kUnaryDeadlineMs,
                       const std::stop_token& stop = {}) {
        RETURN_IF_ERROR(checkTexts(request));
        for (int round = 0;; ++round) {
            bool isReused = false;
            {
                MutexLock lock(mutex_);
                isReused = channel_ != nullptr;
            }
            ASSIGN_OR_RETURN(const ChannelPtr channel, connect());
            grpc::ClientContext context;
            context.set_deadline(std::chrono::system_clock::now() +
                                 std::chrono::milliseconds(deadlineMs));
            Reply reply;
            const auto stub = Service::NewStub(channel);
            if (!begin(&context)) {
                return cancelled("the connection to ", address(), " was given up");
            }
            const grpc::Status status = [&] {
                const std::stop_callback onStop(stop, [&context] { context.TryCancel(); });
                return (stub.get()->*method)(&context, request, &reply);
            }();
            end(&context);
            if (status.ok()) {
                return reply;
            }
            const bool isBroken = dropIfBroken(status, channel);
            if (!(isBroken && isReused && round == 0)) {
                return explained(status, stop_.get_token());
            }
        }
    }

    template <class Service, class Stub, class Request, class Message, class Value>
    std::unique_ptr<Subscription> stream(const char* name,
                                         std::unique_ptr<grpc::ClientReader<Message>> (
                                             Stub::*method)(grpc::ClientContext*, const Request&),
                                         const Request& request, StreamHandler<Value> handler) {
        const Status isText = checkTexts(request);
        Result<ChannelPtr> channel = isText.ok() ? connect() : Result<ChannelPtr>(isText);
        if (!channel.ok()) {
            return std::make_unique<FailedStream<Value>>(channel.status(), std::move(handler));
        }
        StreamHandler<Value> watched = std::move(handler);
        watched.onEnd = [this, used = *channel, next = std::move(watched.onEnd)](const Status& s) {
            if (s.code() == absl::StatusCode::kUnavailable) {
                dropIfBroken(grpc::Status(grpc::StatusCode::UNAVAILABLE, ""), used);
            }
            next(s);
        };
        return std::make_unique<StreamReader<Message, Value>>(
            name, *channel,
            [this](const grpc::Status& s, const std::stop_token& stop) {
                return explained(s, stop);
            },
            [method, request](const ChannelPtr& c, grpc::ClientContext* context) {
                const auto stub = Service::NewStub(c);
                return (stub.get()->*method)(context, request);
            },
            std::move(watched));
    }

    const GrpcClientOptions options_;
    std::stop_source stop_;  // stopped by cancelAll()
    Mutex mutex_;
    ChannelPtr channel_ MR_GUARDED_BY(mutex_);
    std::set<grpc::ClientContext*> underWay_ MR_GUARDED_BY(mutex_);
    bool isCancelled_ MR_GUARDED_BY(mutex_) = false;
};

}  // namespace

// gRPC writes errors to stderr that it also returns; this client prints only the returned ones. The
// environment variable GRPC_VERBOSITY turns gRPC's own output on again.
std::unique_ptr<DaemonClient> makeGrpcClient(GrpcClientOptions options) {
    if (std::getenv("GRPC_VERBOSITY") == nullptr) {
        ::gpr_set_log_function([](gpr_log_func_args*) {});
    }
    return std::make_unique<GrpcClient>(std::move(options));
}

}  // namespace millrace::client
