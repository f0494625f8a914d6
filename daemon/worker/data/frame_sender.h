#pragma once
// FrameSender: the worker's side of the frames. Sends the frames that a feed or a relay requests,
// in the order of the requests, a few chunks ahead of what the connection takes. Used by
// WorkerSession and RelaySenders.
//
// Threads: any. Owns: its call. Failure: a message says which frame it does not hold any more.
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/core/mutex.h"
#include "daemon/transport/duplex.h"
#include "daemon/worker/wire/frame_chunk.h"

namespace millrace::data {

class FrameSender {
 public:
    using FrameOf = std::function<std::optional<segment::CodedFrame>(const stream::SegmentOrder&,
                                                                     std::int64_t frame)>;
    /// Both are called once, on one of gRPC's threads. `onOpen`: a relay has accepted the call.
    FrameSender(
        FrameOf frameOf, std::function<void()> onClosed, std::function<void()> onOpen = [] {});
    ~FrameSender();

    void start(const std::shared_ptr<grpc::Channel>& channel, const std::string& session);
    /// Drops the frames of the order that were requested and not sent.
    void forget(const stream::SegmentOrder& order);
    void close();

 private:
    using Stream = transport::ClientDuplex<grpc::ByteBuffer, grpc::ByteBuffer>;
    struct Wanted {
        stream::SegmentOrder order;
        std::int64_t next = 0, end = 0;  ///< frames
        std::uint64_t offset = 0;        ///< within the frame `next`
    };
    void asked(const grpc::ByteBuffer& buffer);
    void pump();
    std::optional<grpc::ByteBuffer> nextChunk() MR_REQUIRES(mutex_);

    const FrameOf frameOf_;
    const std::function<void()> onOpen_;
    std::shared_ptr<Stream> stream_;
    Mutex mutex_;
    std::deque<Wanted> wanted_ MR_GUARDED_BY(mutex_);  ///< bounded by the feed's requests
};

}  // namespace millrace::data
