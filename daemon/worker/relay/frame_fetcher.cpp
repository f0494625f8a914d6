#include "daemon/worker/relay/frame_fetcher.h"

#include <algorithm>
#include <utility>

#include "backend/core/log.h"
#include "daemon/transport/join_file.h"
#include "daemon/transport/raw_buffer.h"
#include "daemon/worker/wire/order_name.h"

namespace millrace::relay {
namespace {

wire::WorkerConnection connectionOf(const grpc::CallbackServerContext& context) {
    const auto& metadata = context.client_metadata();
    const auto text = metadata.find(wire::kSessionKey);
    return text == metadata.end()
               ? wire::WorkerConnection()
               : wire::WorkerConnection::parse({text->second.data(), text->second.size()});
}

}  // namespace

FrameFetcher::Fetch::~Fetch() {
    std::shared_ptr<wire::OwedFrames> from;
    {
        MutexLock lock(fetcher_.mutex_);
        fetcher_.fetches_.erase(this);
        from = std::move(owed);
    }
    if (from != nullptr) {
        from->forget(wire::orderOf(part), part.frame);
    }
}

std::optional<Result<segment::CodedFrame>> FrameFetcher::Fetch::take() {
    MutexLock lock(fetcher_.mutex_);
    return std::exchange(coded, std::nullopt);
}

std::uint64_t FrameFetcher::Fetch::worker() const {
    MutexLock lock(fetcher_.mutex_);
    return part.worker;
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
    const wire::WorkerConnection of = connectionOf(*context);
    const std::uint64_t number = of.worker;
    const auto owed = std::make_shared<wire::OwedFrames>(memory_);
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
                            [this, of, owed] { closed(of, owed); }});
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
        worker = {call, owed, of.connection};
    }
    if (before != nullptr) {
        before->close({grpc::StatusCode::ABORTED, "frames: the worker has connected again"});
    }
    logDebug("relay: a data worker is connected", {{"worker", number}});
    call->readNext();
    call->send(transport::bufferOf(v1::FrameRequest()));  // the call is accepted
    connected(number);
    return call.get();
}

void FrameFetcher::closed(const wire::WorkerConnection& of,
                          const std::shared_ptr<wire::OwedFrames>& owed) {
    {
        MutexLock lock(mutex_);
        closed_[of.worker] = std::max(closed_[of.worker], of.connection);
        const auto worker = workers_.find(of.worker);
        if (worker != workers_.end() && worker->second.owed == owed) {
            workers_.erase(worker);
        }
    }
    owed->end(unavailable("the connection of data worker ", of.worker, " has ended"));
}

v1::FollowWord FrameFetcher::traffic() {
    v1::FollowWord word;
    MutexLock lock(mutex_);
    for (const auto& [number, worker] : workers_) {
        const wire::Traffic traffic = worker.owed->traffic();
        v1::FetchTraffic& link = *word.add_links();
        link.set_worker(number);
        link.set_bytes(traffic.bytes);
        link.set_wait_us(static_cast<std::uint64_t>(traffic.waitNs / 1000));
    }
    return word;
}

std::shared_ptr<FrameFetch> FrameFetcher::fetch(const stream::FramePart& part, Handlers handlers) {
    auto fetch = std::make_shared<Fetch>(*this, part, std::move(handlers));
    request(fetch);
    return fetch;
}

/// Requests the frame from the worker that has it now.
void FrameFetcher::request(const FetchPtr& fetch) {
    Worker from;
    std::shared_ptr<wire::OwedFrames> before;
    stream::FramePart was, part;
    std::uint32_t connection = 0;
    {
        MutexLock lock(mutex_);
        fetches_.try_emplace(fetch.get(), fetch);
        was = fetch->part;
        followMoves(fetch->part);
        part = fetch->part;
        const auto worker = workers_.find(part.worker);
        if (worker != workers_.end()) {
            from = worker->second;
        }
        if (from.owed != nullptr && fetch->owed == from.owed && part == was) {
            return;  // another thread has just requested it
        }
        before = std::exchange(fetch->owed, from.owed);
        connection = from.call != nullptr ? from.connection : closed_[part.worker];
        fetch->connection = connection;
    }
    if (before != nullptr) {
        before->forget(wire::orderOf(was), was.frame);
    }
    if (from.call == nullptr) {
        fetch->handlers.onLost(part.worker, connection);
        return;
    }
    const stream::SegmentOrder order = wire::orderOf(part);
    from.owed->ask(order, part.frame, {part.codedBytes, part.bytes},
                   [this, into = std::weak_ptr<Fetch>(fetch), owed = from.owed.get()](
                       std::int64_t, Result<segment::CodedFrame> coded) {
                       if (const auto wanted = into.lock()) {
                           came(wanted, owed, std::move(coded));
                       }
                       return okStatus();
                   });
    if (from.call->isOver()) {  // it may have ended before ask()
        from.owed->end(unavailable("the connection of data worker ", part.worker, " has ended"));
        return;
    }
    v1::FrameRequest message;
    wire::toMessage(order, *message.mutable_name());
    message.set_first(static_cast<std::uint64_t>(part.frame));
    message.set_count(1);
    from.call->send(transport::bufferOf(message));
}

/// An answer from a place at which the frame is not awaited any more is used if it is the frame.
void FrameFetcher::came(const FetchPtr& fetch, const wire::OwedFrames* from,
                        Result<segment::CodedFrame> coded) {
    const bool isLost = coded.status().code() == absl::StatusCode::kUnavailable;
    std::uint64_t worker = 0;
    std::uint32_t connection = 0;
    {
        MutexLock lock(mutex_);
        const bool isCurrent = fetch->owed.get() == from;
        if (fetch->isDone || (!coded.ok() && !isCurrent)) {
            return;
        }
        if (isCurrent) {
            fetch->owed.reset();
        }
        worker = fetch->part.worker;
        connection = fetch->connection;
        if (!isLost) {
            fetch->coded = std::move(coded);
            fetch->isDone = true;
        }
    }
    if (isLost) {
        fetch->handlers.onLost(worker, connection);
    } else {
        fetch->handlers.onDone();
    }
}

void FrameFetcher::followMoves(stream::FramePart& part) const {
    for (std::size_t step = 0; step < kMovesMost; ++step) {
        const auto move = moves_.find({part.worker, part.name, part.generation});
        if (move == moves_.end() || !move->second.codedBytes.contains(part.frame)) {
            return;
        }
        part.worker = move->second.toWorker;
        part.generation = move->second.toGeneration;
        part.codedBytes = move->second.codedBytes.at(part.frame);
    }
}

template <typename Is>
std::vector<FrameFetcher::FetchPtr> FrameFetcher::awaited(const Is& is) {
    std::vector<FetchPtr> found;
    for (const auto& [raw, fetch] : fetches_) {
        if (!raw->isDone && is(*raw)) {
            if (FetchPtr alive = fetch.lock()) {
                found.push_back(std::move(alive));
            }
        }
    }
    return found;
}

void FrameFetcher::connected(std::uint64_t number) {
    std::vector<FetchPtr> waiting;
    {
        MutexLock lock(mutex_);
        waiting = awaited([number](const Fetch& fetch) {
            return fetch.owed == nullptr && fetch.part.worker == number;
        });
    }
    for (const FetchPtr& fetch : waiting) {
        request(fetch);
    }
}

void FrameFetcher::moved(const v1::MovedFrames& moved) {
    const stream::SegmentOrder order = wire::orderOf(moved.name());
    const Home home{moved.worker(), order.name, order.generation};
    std::vector<FetchPtr> waiting;
    {
        MutexLock lock(mutex_);
        const auto [place, isNew] = moves_.try_emplace(home);
        Move& move = place->second;
        move.toWorker = moved.to_worker();
        move.toGeneration = moved.to_generation();
        for (const v1::MovedFrame& frame : moved.frames()) {
            move.codedBytes[static_cast<std::int64_t>(frame.frame())] = frame.coded_bytes();
        }
        if (isNew) {
            moveOrder_.push_back(home);
        }
        if (moveOrder_.size() > kMovesMost) {
            moves_.erase(moveOrder_.front());  // the newest is behind it
            moveOrder_.pop_front();
        }
        waiting = awaited([&home, &move](const Fetch& fetch) {
            const stream::FramePart& part = fetch.part;
            return home == Home{part.worker, part.name, part.generation} &&
                   move.codedBytes.contains(part.frame);
        });
    }
    for (const FetchPtr& fetch : waiting) {
        request(fetch);
    }
}

}  // namespace millrace::relay
