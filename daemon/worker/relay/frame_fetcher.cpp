#include "daemon/worker/relay/frame_fetcher.h"

#include <charconv>
#include <utility>

#include "backend/core/log.h"
#include "daemon/transport/join_file.h"
#include "daemon/transport/raw_buffer.h"
#include "daemon/worker/wire/order_name.h"

namespace millrace::relay {
namespace {

/// 0: it names no worker.
std::uint64_t workerOf(const grpc::CallbackServerContext& context) {
    const auto& metadata = context.client_metadata();
    const auto name = metadata.find(wire::kSessionKey);
    std::uint64_t number = 0;
    if (name != metadata.end()) {
        std::from_chars(name->second.data(), name->second.data() + name->second.size(), number);
    }
    return number;
}

}  // namespace

FrameFetcher::Fetch::~Fetch() {
    if (owed_ != nullptr) {
        owed_->forget(wire::orderOf(part_), part_.frame);
    }
}

std::optional<Result<segment::CodedFrame>> FrameFetcher::Fetch::take() {
    MutexLock lock(mutex_);
    return std::exchange(coded_, std::nullopt);
}

void FrameFetcher::Fetch::done(Result<segment::CodedFrame> coded) {
    MutexLock lock(mutex_);
    coded_ = std::move(coded);
}

Result<std::unique_ptr<FrameFetcher>> FrameFetcher::start(const std::string& host) {
    std::unique_ptr<FrameFetcher> fetcher(new FrameFetcher());
    ASSIGN_OR_RETURN(transport::JoinFile file, transport::JoinFile::make(host, ""));
    ASSIGN_OR_RETURN(
        fetcher->server_,
        transport::Server::start(file, *fetcher, [token = file.token](std::string_view given) {
            return transport::isSameToken(given, token);
        }));
    fetcher->join_ = file.toText();
    logInfo("relay: data workers may connect", {{"address", file.address}});
    return fetcher;
}

FrameFetcher::~FrameFetcher() {
    std::map<std::uint64_t, Worker> workers;
    {
        MutexLock lock(mutex_);
        workers.swap(workers_);
    }
    for (const auto& [number, worker] : workers) {
        worker.call->close(grpc::Status::OK);
    }
    server_.reset();  // waits for the calls
}

grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* FrameFetcher::Frames(
    grpc::CallbackServerContext* context) {
    const std::uint64_t number = workerOf(*context);
    const auto owed = std::make_shared<wire::OwedFrames>();
    const auto place = std::make_shared<std::weak_ptr<FrameStream>>();
    const std::shared_ptr<FrameStream> call =
        FrameStream::start({[owed, place, number](grpc::ByteBuffer& buffer) {
                                const auto self = place->lock();
                                const auto chunk = wire::FrameChunk::read(buffer);
                                const Status status =
                                    chunk.ok() ? owed->came(*chunk, nullptr) : chunk.status();
                                if (self != nullptr && status.ok()) {
                                    self->readNext();
                                } else if (self != nullptr) {
                                    logWarn("relay: a data worker's connection is broken",
                                            {{"worker", number}, {"why", messageOf(status)}});
                                    self->close(transport::toGrpc(status));
                                }
                            },
                            [this, number, owed] { closed(number, owed); }});
    *place = call;
    if (number == 0) {
        call->close({grpc::StatusCode::INVALID_ARGUMENT, "frames: the call names no data worker"});
        return call.get();
    }
    std::shared_ptr<FrameStream> before;
    {
        MutexLock lock(mutex_);
        Worker& worker = workers_[number];
        before = std::move(worker.call);
        worker = {call, owed};
    }
    if (before != nullptr) {
        before->close({grpc::StatusCode::ABORTED, "frames: the worker has connected again"});
    }
    logDebug("relay: a data worker is connected", {{"worker", number}});
    call->readNext();
    call->send(transport::bufferOf(v1::FrameRequest()));  // the call is accepted
    return call.get();
}

void FrameFetcher::closed(std::uint64_t number, const std::shared_ptr<wire::OwedFrames>& owed) {
    {
        MutexLock lock(mutex_);
        const auto worker = workers_.find(number);
        if (worker != workers_.end() && worker->second.owed == owed) {
            workers_.erase(worker);
        }
    }
    owed->end(unavailable("the connection of data worker ", number, " has ended"));
}

v1::FollowWord FrameFetcher::traffic() {
    v1::FollowWord word;
    MutexLock lock(mutex_);
    for (const auto& [number, worker] : workers_) {
        const wire::Traffic traffic = worker.owed->traffic();
        v1::LinkTraffic& link = *word.add_links();
        link.set_worker(number);
        link.set_bytes(traffic.bytes);
        link.set_wait_us(static_cast<std::uint64_t>(traffic.waitNs / 1000));
    }
    return word;
}

std::shared_ptr<FrameFetcher::Fetch> FrameFetcher::fetch(const stream::FramePart& part,
                                                         std::function<void()> onDone) {
    Worker from;
    {
        MutexLock lock(mutex_);
        const auto worker = workers_.find(part.worker);
        if (worker != workers_.end()) {
            from = worker->second;
        }
    }
    const auto fetch = std::make_shared<Fetch>(from.owed, part);
    if (from.call == nullptr) {
        fetch->done(unavailable("data worker ", part.worker, " is not connected"));
        onDone();
        return fetch;
    }
    const stream::SegmentOrder order = wire::orderOf(part);
    const std::weak_ptr<Fetch> into = fetch;
    from.owed->ask(
        order, part.frame, part.codedBytes,
        [into, onDone = std::move(onDone)](std::int64_t, Result<segment::CodedFrame> coded) {
            if (const auto wanted = into.lock()) {
                wanted->done(std::move(coded));
                onDone();
            }
            return okStatus();
        });
    if (from.call->isOver()) {  // it may have ended before ask()
        from.owed->end(unavailable("the connection of data worker ", part.worker, " has ended"));
        return fetch;
    }
    v1::FrameRequest request;
    wire::toMessage(order, *request.mutable_name());
    request.set_first(static_cast<std::uint64_t>(part.frame));
    request.set_count(1);
    from.call->send(transport::bufferOf(request));
    return fetch;
}

}  // namespace millrace::relay
