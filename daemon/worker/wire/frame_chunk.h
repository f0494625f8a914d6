#pragma once
// FrameChunk: v1::FrameChunk as a raw buffer. The sender does not copy the frame's bytes into a
// message; the receiver copies them once, to where the frame is assembled. Used by FrameSender and
// OwedFrames.
//
// Threads: any. Failure: kDataLoss for bytes that are not a chunk.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "backend/core/status.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/stream/segment_order.h"
#include "millrace/v1/data.pb.h"

namespace millrace::wire {

inline constexpr std::uint64_t kChunkBytesMost = 4 << 20;

/// Makes one message of the bytes of `coded` from `offset` on, and keeps the frame in memory for
/// it. For a frame in shared memory the message has only its position.
grpc::ByteBuffer makeChunk(const stream::SegmentOrder& order, std::int64_t frame,
                           const segment::CodedFrame& coded, std::uint64_t offset);

/// A message that says that the frame is not held any more.
grpc::ByteBuffer missingChunk(const stream::SegmentOrder& order, std::int64_t frame);

struct FrameChunk {
    v1::FrameChunk head;      ///< all but `bytes`
    std::uint64_t bytes = 0;  ///< of the payload

    static Result<FrameChunk> read(const grpc::ByteBuffer& buffer);
    /// Copies exactly `bytes` bytes to `to`.
    void copyTo(std::byte* to) const;

 private:
    std::vector<grpc::Slice> slices_;
    std::size_t skipped_ = 0;  ///< bytes of the slices before the payload
};

}  // namespace millrace::wire
