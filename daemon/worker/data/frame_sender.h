#pragma once
// The worker's end of the frames: sends those that the feed asks for, in the order in which it
// asks, a few chunks ahead of what the connection takes.
//
// Threads: any. Owns: its call. Failure: a frame that is not held any more is left out; that its
// segment was given up is told beside this.
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "backend/core/mutex.h"
#include "daemon/transport/duplex.h"
#include "daemon/worker/data/frame_chunk.h"

namespace millrace::data {

class FrameSender {
 public:
    using FrameOf = std::function<std::optional<segment::CodedFrame>(const stream::SegmentOrder&,
                                                                     std::int64_t frame)>;
    /// `onClosed`: once, from a thread of gRPC's.
    FrameSender(FrameOf frameOf, std::function<void()> onClosed);
    ~FrameSender();

    void start(const std::shared_ptr<grpc::Channel>& channel, const std::string& session);
    /// What of the order was asked for and has not gone out is wanted no more.
    void forget(const stream::SegmentOrder& order);
    void close();

 private:
    using Stream = transport::ClientDuplex<grpc::ByteBuffer, grpc::ByteBuffer>;
    struct Wanted {
        stream::SegmentOrder order;
        std::int64_t next = 0, end = 0;  ///< frames
        std::uint64_t offset = 0;        ///< within the next one
    };
    void asked(const grpc::ByteBuffer& buffer);
    void pump();
    std::optional<grpc::ByteBuffer> nextChunk() MR_REQUIRES(mutex_);

    const FrameOf frameOf_;
    std::shared_ptr<Stream> stream_;
    Mutex mutex_;
    std::deque<Wanted> wanted_ MR_GUARDED_BY(mutex_);  ///< bounded by what the feed may ask for
};

}  // namespace millrace::data
