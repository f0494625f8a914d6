#pragma once
// Everything that is known of a computed segment without its frames: the number of rows, the counts
// of each step, and for each frame what delivery needs before the frame arrives, or instead of it.
//
// Threads: values. Failure: checkFacts() rejects inconsistent facts; they may come from another
// machine.
#include <cstdint>
#include <vector>

#include "backend/core/hash.h"
#include "backend/core/status.h"
#include "backend/segment/batch_meter.h"
#include "backend/segment/row_counts.h"
#include "backend/segment/stream_shape.h"
#include "backend/stream/segment_order.h"

namespace millrace::segment {

/// Facts of one frame.
struct FrameReport {
    std::uint64_t bytes = 0;       ///< in memory
    std::uint64_t codedBytes = 0;  ///< as sent
    Sum128 rowIds;                 ///< stream::rowIdsHash() of its rows
    /// The same as in BatchMix: distinct requests, and rows of the largest user; 0: no such column.
    std::int64_t requests = 0, userRows = 0;

    BatchMix mix(std::int64_t rows) const;
    void setMix(const BatchMix& mix);
};

struct SegmentReport {
    RowCounts counts;
    std::vector<FrameReport>
        frames;                 ///< of the full micro-batches, in order; none for a tail alone
    std::int64_t tailRows = 0;  ///< rows behind these; fewer than a micro-batch
    FrameReport tail;           ///< of the frame that holds them; unset if there are none
    /// Keys of the tail's rows; empty if the spec names no such column.
    std::vector<std::uint64_t> tailRequestKeys, tailUserKeys;

    /// Bytes of all frames in memory.
    std::uint64_t frameBytes() const;
};

/// kDataLoss, with the reason, when these cannot be the facts of that order.
Status checkFacts(const SegmentReport& facts, const stream::SegmentOrder& order,
                  const StreamShape& shape);

}  // namespace millrace::segment
