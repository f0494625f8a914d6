#pragma once
// What is known of a computed segment without its frames: how many rows, what became of them, and
// of each frame what delivery needs before it is there, or instead of it.
//
// Threads: values. Failure: checkFacts() refuses what does not hold together; facts may come from
// another machine.
#include <cstdint>
#include <vector>

#include "backend/core/hash.h"
#include "backend/core/status.h"
#include "backend/segment/batch_meter.h"
#include "backend/segment/row_counts.h"
#include "backend/segment/stream_shape.h"
#include "backend/stream/segment_order.h"

namespace millrace::segment {

/// Of one frame.
struct FrameFacts {
    std::uint64_t bytes = 0;       ///< in memory
    std::uint64_t codedBytes = 0;  ///< as it travels
    Sum128 rowIds;                 ///< stream::rowIdsHash() of its rows
    /// As BatchMix: different requests, and rows of the largest user; 0: no such column.
    std::int64_t requests = 0, userRows = 0;

    BatchMix mix(std::int64_t rows) const;
    void setMix(const BatchMix& mix);
};

struct SegmentFacts {
    RowCounts counts;
    std::vector<FrameFacts> frames;  ///< of the full micro-batches, in order; none for a tail alone
    std::int64_t tailRows = 0;       ///< behind these; below a micro-batch
    FrameFacts tail;                 ///< of the frame that holds them; none with no rows
    /// Of the tail's rows; empty where the spec names no such column.
    std::vector<std::uint64_t> tailRequestKeys, tailUserKeys;

    /// In memory, of all frames.
    std::uint64_t frameBytes() const;
};

/// kDataLoss with what is wrong, when these cannot be the facts of that order.
Status checkFacts(const SegmentFacts& facts, const stream::SegmentOrder& order,
                  const StreamShape& shape);

}  // namespace millrace::segment
