#pragma once
// v1::FrameChunk as a raw buffer: the frame's bytes are not copied into a
// message on one side, and copied once, to where the frame is put together, on the other.
//
// Threads: any. Failure: kDataLoss for bytes that are no chunk.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <grpcpp/grpcpp.h>

#include "backend/core/status.h"
#include "backend/segment/sequence/remote_frames.h"
#include "backend/stream/segment_order.h"
#include "millrace/v1/data.pb.h"

namespace millrace::data {

inline constexpr std::uint64_t kChunkBytesMost = 4 << 20;

/// The stretch of `coded` from `offset` on, as one message that keeps the frame in memory; of one
/// in shared memory its place.
grpc::ByteBuffer makeChunk(const stream::SegmentOrder& order, std::int64_t frame,
                           const segment::CodedFrame& coded, std::uint64_t offset);

struct FrameChunk {
    v1::FrameChunk head;      ///< all but `bytes`
    std::uint64_t bytes = 0;  ///< of the payload

    static Result<FrameChunk> read(const grpc::ByteBuffer& buffer);
    /// Exactly `bytes` to `to`.
    void copyTo(std::byte* to) const;

 private:
    std::vector<grpc::Slice> slices_;
    std::size_t skipped_ = 0;  ///< bytes of the slices before the payload
};

}  // namespace millrace::data
