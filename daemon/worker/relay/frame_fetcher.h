#pragma once
// FrameFetcher: the frames that a relay's ranks need from data workers. It listens; workers connect
// and send the frames that it requests. Used by Relay.
//
// A frame whose worker is not connected is requested when the worker connects again, or from the
// worker that has it instead (moved()). Threads: any; gRPC's deliver frames. Owns: the server, the
// workers' calls. Bounds: a frame is requested once it has a place in its rank's ring; the last
// kMovesMost moves are known. Failure: start() returns a sentence; a FrameFetch gets kNotFound or
// kDataLoss from the worker.
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/stream/frame_part.h"
#include "daemon/transport/duplex.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/relay/frame_fetch.h"
#include "daemon/worker/wire/order_name.h"
#include "daemon/worker/wire/owed_frames.h"
#include "millrace/v1/data.grpc.pb.h"

namespace millrace::relay {

class FrameFetcher final : public FrameSource,
                           private v1::Data::WithRawCallbackMethod_Frames<v1::Data::Service> {
 public:
    static constexpr std::size_t kMovesMost = 4096;

    /// `host`: of this machine, where workers can connect to it.
    static Result<std::unique_ptr<FrameFetcher>> start(const std::string& host);
    ~FrameFetcher() override;

    /// The join file for workers, without the key.
    const std::string& join() const { return join_; }
    /// Returns the bytes and waiting time of each open connection.
    v1::FollowWord traffic();
    std::shared_ptr<FrameFetch> fetch(const stream::FramePart& part, Handlers handlers) override;
    /// Frames are at another worker now; those that are awaited are requested there.
    void moved(const v1::MovedFrames& moved);

 private:
    using FrameStream = transport::ServerDuplex<grpc::ByteBuffer, grpc::ByteBuffer>;
    struct Worker {
        std::shared_ptr<FrameStream> call;
        std::shared_ptr<wire::OwedFrames> owed;
        std::uint32_t connection = 0;  ///< as wire::WorkerConnection
    };
    /// An order of a worker, as references name it.
    struct Home {
        std::uint64_t worker = 0;
        stream::SegmentName name;
        std::uint32_t generation = 0;
        auto operator<=>(const Home&) const = default;
    };
    struct Move {
        std::uint64_t toWorker = 0;
        std::uint32_t toGeneration = 0;
        std::map<std::int64_t, std::uint64_t> codedBytes;  ///< by frame
    };
    class Fetch final : public FrameFetch {
     public:
        Fetch(FrameFetcher& fetcher, const stream::FramePart& part, Handlers handlers)
            : handlers(std::move(handlers)), part(part), fetcher_(fetcher) {}
        ~Fetch() override;
        Fetch(const Fetch&) = delete;
        Fetch& operator=(const Fetch&) = delete;
        std::optional<Result<segment::CodedFrame>> take() override;
        std::uint64_t worker() const override;

        const Handlers handlers;
        // Under the fetcher's lock.
        stream::FramePart part;                  ///< where it is now
        std::shared_ptr<wire::OwedFrames> owed;  ///< from which it is requested; null: none
        std::uint32_t connection = 0;            ///< the last one from which it was
        std::optional<Result<segment::CodedFrame>> coded;
        bool isDone = false;

     private:
        FrameFetcher& fetcher_;
    };
    using FetchPtr = std::shared_ptr<Fetch>;
    FrameFetcher() = default;
    grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Frames(
        grpc::CallbackServerContext* context) override;
    void closed(const wire::WorkerConnection& of, const std::shared_ptr<wire::OwedFrames>& owed);
    void connected(std::uint64_t number);
    void request(const FetchPtr& fetch);
    void came(const FetchPtr& fetch, const wire::OwedFrames* from,
              Result<segment::CodedFrame> coded);
    void followMoves(stream::FramePart& part) const MR_REQUIRES(mutex_);
    template <typename Is>
    std::vector<FetchPtr> awaited(const Is& is) MR_REQUIRES(mutex_);

    std::string join_;
    const std::shared_ptr<wire::FrameMemory> memory_ = wire::FrameMemory::make();
    Mutex mutex_;
    std::map<std::uint64_t, Worker> workers_ MR_GUARDED_BY(mutex_);        ///< by number
    std::map<std::uint64_t, std::uint32_t> closed_ MR_GUARDED_BY(mutex_);  ///< last ones, by worker
    std::map<Home, Move> moves_ MR_GUARDED_BY(mutex_);
    std::deque<Home> moveOrder_ MR_GUARDED_BY(mutex_);  ///< of moves_, oldest first
    std::map<Fetch*, std::weak_ptr<Fetch>> fetches_ MR_GUARDED_BY(mutex_);
    std::unique_ptr<transport::Server> server_;
};

}  // namespace millrace::relay
