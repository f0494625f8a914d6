#pragma once
// A reference to rows of a frame that a data worker holds. A rank on another node gets it instead
// of the frame, and that node fetches the frame from the worker.
//
// Threads: values.
#include <cstdint>

#include "backend/core/hash.h"
#include "backend/stream/segment_order.h"

namespace millrace::stream {

struct FramePart {
    std::uint64_t worker = 0;        ///< random number of a worker's session; never 0
    SegmentName name;                ///< of the segment
    std::uint32_t generation = 0;    ///< of the order, as the worker knows it
    std::int64_t frame = 0;          ///< index within the segment, from 0
    std::uint32_t from = 0, to = 0;  ///< rows [from, to) of the frame
    std::uint32_t rows = 0;          ///< of the whole frame
    std::uint64_t bytes = 0;         ///< of the whole frame in memory
    std::uint64_t codedBytes = 0;    ///< of the whole frame as it is sent
    Sum128 rowIds;                   ///< rowIdsHash() of the whole frame

    bool operator==(const FramePart&) const = default;
    bool isWhole() const { return from == 0 && to == rows; }
};

}  // namespace millrace::stream
