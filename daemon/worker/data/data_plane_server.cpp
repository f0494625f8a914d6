#include "daemon/worker/data/data_plane_server.h"

#include <cstring>

#include "backend/core/ids.h"
#include "backend/core/log.h"
#include "daemon/transport/join_file.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/data/messages.h"
#include "daemon/worker/data/store_messages.h"

namespace millrace::data {
namespace {

constexpr std::size_t kPieceBytes = 1 << 20;
constexpr std::size_t kSessionBytes = 16;
constexpr std::size_t kNameMost = 200;

/// The pieces of the answer to a join, one at a time.
class JoinWriter final : public grpc::ServerWriteReactor<v1::JoinPiece> {
 public:
    explicit JoinWriter(const Status& refused) { Finish(transport::toGrpc(refused)); }
    /// `options` outlives the call.
    JoinWriter(const DataPlaneOptions& options, const std::string& session, std::uint64_t worker)
        : options_(&options) {
        piece_.set_session(session);
        piece_.set_worker(worker);
        piece_.set_spec(options.spec);
        piece_.set_stream_hash(options.streamHash);
        piece_.set_plan_hash(options.planHash);
        if (options.store) {
            toMessage(options.store(), *piece_.mutable_store());
        }
        writeNext();
    }
    void OnWriteDone(bool ok) override {
        if (!ok || sent_ == options_->plan.size()) {
            Finish(grpc::Status::OK);
            return;
        }
        piece_.Clear();
        writeNext();
    }
    void OnDone() override { delete this; }

 private:
    void writeNext() {
        piece_.set_plan(options_->plan.substr(sent_, kPieceBytes));
        sent_ += piece_.plan().size();
        StartWrite(&piece_);
    }
    const DataPlaneOptions* options_ = nullptr;
    std::size_t sent_ = 0;
    v1::JoinPiece piece_;
};

std::string sessionOf(const grpc::CallbackServerContext& context) {
    const auto& metadata = context.client_metadata();
    const auto session = metadata.find(kSessionKey);
    return session == metadata.end() ? std::string()
                                     : std::string(session->second.data(), session->second.size());
}

template <class Stream, class In, class Out>
grpc::ServerBidiReactor<In, Out>* refuse() {
    const std::shared_ptr<Stream> stream = Stream::start({[](In&) {}, [] {}, [] {}});
    stream->close({grpc::StatusCode::UNAUTHENTICATED,
                   "no such session; a worker joins first, and again when the feed let go of it"});
    return stream.get();
}

}  // namespace

Result<std::unique_ptr<DataPlaneServer>> DataPlaneServer::open(DataPlaneOptions options,
                                                               WorkerAdmission& keeper) {
    std::unique_ptr<DataPlaneServer> made(new DataPlaneServer(std::move(options), keeper));
    const DataPlaneOptions& of = made->options_;
    ASSIGN_OR_RETURN(
        made->followers_,
        relay::Followers::open({of.feedSocket, of.groupSocket, of.isNetwork, of.spec, of.streamHash,
                                of.planHash,
                                [self = made.get()](const v1::JoinRequest& request) {
                                    return self->admits(request, self->options_.relayToken);
                                },
                                of.ledger, [&keeper] { keeper.relaysChanged(); },
                                [self = made.get()](std::uint64_t worker, const std::string& why) {
                                    self->sentBadFrame(worker, why);
                                }}));
    return made;
}

// Checks the token first: a peer without it learns nothing else.
Status DataPlaneServer::admits(const v1::JoinRequest& request, const std::string& token) const {
    if (!transport::isSameToken(request.token(), token)) {
        return Status(absl::StatusCode::kUnauthenticated,
                      "join: another token; the join file is of another attempt, was changed, or "
                      "is a data worker's, which no relay can follow the feed with");
    }
    if (request.attempt() != options_.attempt) {
        return failedPrecondition("join: attempt ", request.attempt(), " came to attempt ",
                                  options_.attempt, "; use its own join file");
    }
    if (request.build_id() != options_.buildId) {
        return failedPrecondition("join: build ", request.build_id(), " came to build ",
                                  options_.buildId,
                                  "; a feed, its data workers and relays must be of one build of "
                                  "Millrace, for their bytes must be equal");
    }
    return okStatus();
}

std::string DataPlaneServer::open(const v1::JoinRequest& request) {
    std::string session = randomBytes(kSessionBytes);
    std::uint64_t number = 0;
    while (number == 0) {
        const std::string random = randomBytes(sizeof number);
        std::memcpy(&number, random.data(), sizeof number);
    }
    const auto link = std::make_shared<WorkerLink>(
        request.name().substr(0, kNameMost), wire::senderOf(request), number, memory_,
        [this](const LinkPtr& broken, const Status& why) { keeper_.broken(broken, why); });
    MutexLock lock(mutex_);
    if (links_.size() >= kSessionsMost) {
        std::erase_if(links_, [](const auto& entry) { return !entry.second->isWhole(); });
    }
    links_.emplace(session, link);
    return session;
}

grpc::ServerWriteReactor<v1::JoinPiece>* DataPlaneServer::Join(grpc::CallbackServerContext*,
                                                               const v1::JoinRequest* request) {
    const Status admitted = admits(*request, options_.token);
    if (!admitted.ok()) {
        logWarn("data: refused",
                {{"worker", request->name().substr(0, kNameMost)}, {"why", messageOf(admitted)}});
        return new JoinWriter(admitted);
    }
    const std::string session = open(*request);
    const LinkPtr link = linkOf(session);
    return link == nullptr ? new JoinWriter(unavailable("join: too many workers join at once"))
                           : new JoinWriter(options_, session, link->number);
}

DataPlaneServer::LinkPtr DataPlaneServer::linkOf(const std::string& session) {
    MutexLock lock(mutex_);
    const auto link = links_.find(session);
    return link == links_.end() ? nullptr : link->second;
}

void DataPlaneServer::sentBadFrame(std::uint64_t worker, const std::string& why) {
    LinkPtr bad;
    {
        MutexLock lock(mutex_);
        for (const auto& [session, link] : links_) {
            bad = link->number == worker ? link : bad;
        }
    }
    if (bad != nullptr) {
        keeper_.broken(bad, dataLoss(why));
    }
}

void DataPlaneServer::closed(const std::string& session, const LinkPtr& link) {
    {
        MutexLock lock(mutex_);
        links_.erase(session);
    }
    keeper_.closed(link);
}

void DataPlaneServer::slabs(UniqueFd fd) {
    const LinkPtr link = linkOf(SlabReader::sessionOf(fd.get()));
    if (link == nullptr || !link->setSlabs(std::move(fd))) {
        logWarn("data: a channel for slabs of no worker that joined");
    }
}

grpc::ServerBidiReactor<v1::WorkerReport, v1::WorkerOrders>* DataPlaneServer::Work(
    grpc::CallbackServerContext* context) {
    const std::string session = sessionOf(*context);
    const LinkPtr link = linkOf(session);
    if (link == nullptr) {
        return refuse<WorkStream, v1::WorkerReport, v1::WorkerOrders>();
    }
    const std::shared_ptr<WorkStream> stream =
        WorkStream::start({[this, link](v1::WorkerReport& report) { keeper_.report(link, report); },
                           [this, session, link] { closed(session, link); }, [] {}});
    if (!link->setWork(stream)) {
        stream->close({grpc::StatusCode::ALREADY_EXISTS, "this session has its orders already"});
    } else if (link->isWhole()) {
        keeper_.whole(link);
    }
    return stream.get();
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* DataPlaneServer::Frames(
    grpc::CallbackServerContext* context) {
    const std::string session = sessionOf(*context);
    const LinkPtr link = linkOf(session);
    if (link == nullptr) {
        return refuse<FrameStream, grpc::ByteBuffer, grpc::ByteBuffer>();
    }
    const auto place = std::make_shared<std::weak_ptr<FrameStream>>();
    const std::shared_ptr<FrameStream> stream =
        FrameStream::start({[link, place](grpc::ByteBuffer& buffer) {
                                link->came(buffer);
                                if (const auto self = place->lock()) {
                                    self->readNext();
                                }
                            },
                            [this, session, link] { closed(session, link); }, [] {}});
    *place = stream;
    if (!link->setFrames(stream)) {
        stream->close({grpc::StatusCode::ALREADY_EXISTS, "this session has its frames already"});
        return stream.get();
    }
    stream->readNext();
    if (link->isWhole()) {
        keeper_.whole(link);
    }
    return stream.get();
}

}  // namespace millrace::data
