#pragma once
// FrameFetcher: the frames that a relay's ranks need from data workers. It listens; workers connect
// and send the frames that it requests. Used by Relay.
//
// Threads: any; gRPC's deliver frames. Owns: the server, the workers' calls. Bounds: a frame is
// requested once it has a place in its rank's ring. Failure: start() returns a sentence; a Fetch
// gets kUnavailable when its worker's connection ends, and kNotFound or kDataLoss from the worker.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include <grpcpp/grpcpp.h>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/stream/frame_part.h"
#include "daemon/transport/duplex.h"
#include "daemon/transport/transport.h"
#include "daemon/worker/wire/owed_frames.h"
#include "millrace/v1/data.grpc.pb.h"

namespace millrace::relay {

class FrameFetcher final : private v1::Data::WithRawCallbackMethod_Frames<v1::Data::Service> {
 public:
    /// One frame that was requested. Destroying it drops the frame when it arrives.
    class Fetch {
     public:
        Fetch(std::shared_ptr<wire::OwedFrames> owed, const stream::FramePart& part)
            : owed_(std::move(owed)), part_(part) {}
        ~Fetch();
        Fetch(const Fetch&) = delete;
        Fetch& operator=(const Fetch&) = delete;
        /// Nothing: it has not arrived.
        std::optional<Result<segment::CodedFrame>> take();
        void done(Result<segment::CodedFrame> coded);

     private:
        const std::shared_ptr<wire::OwedFrames> owed_;  ///< null: no connection
        const stream::FramePart part_;
        Mutex mutex_;
        std::optional<Result<segment::CodedFrame>> coded_ MR_GUARDED_BY(mutex_);
    };

    /// `host`: of this machine, where workers can connect to it.
    static Result<std::unique_ptr<FrameFetcher>> start(const std::string& host);
    ~FrameFetcher();

    /// The join file for workers, without the key.
    const std::string& join() const { return join_; }
    /// Returns the bytes and waiting time of each open connection.
    v1::FollowWord traffic();
    /// Requests the frame. `onDone` is called once, when take() has something, on any thread; also
    /// from inside this call.
    std::shared_ptr<Fetch> fetch(const stream::FramePart& part, std::function<void()> onDone);

 private:
    using FrameStream = transport::ServerDuplex<grpc::ByteBuffer, grpc::ByteBuffer>;
    struct Worker {
        std::shared_ptr<FrameStream> call;
        std::shared_ptr<wire::OwedFrames> owed;
    };
    FrameFetcher() = default;
    grpc::ServerBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer>* Frames(
        grpc::CallbackServerContext* context) override;
    void closed(std::uint64_t number, const std::shared_ptr<wire::OwedFrames>& owed);

    std::string join_;
    Mutex mutex_;
    std::map<std::uint64_t, Worker> workers_ MR_GUARDED_BY(mutex_);  ///< by number
    std::unique_ptr<transport::Server> server_;
};

}  // namespace millrace::relay
