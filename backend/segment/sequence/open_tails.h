#pragma once
// The rows that segments leave to the open rest, copied to frames that outlast their segments'
// memory.
//
// Threads: one at a time (whichever has the turn). Owns: the frames, in a pool's memory.
// Failure: the pool's limit; a cursor's rest that names rows which no segment leaves.
#include <cstdint>
#include <map>
#include <vector>

#include "backend/core/status.h"
#include "backend/frame/frame.h"
#include "backend/segment/memory/buffer_pool.h"
#include "backend/segment/sequence/segment_frames.h"
#include "backend/stream/micro_batch_count.h"

namespace millrace::segment {

class OpenTails {
 public:
    /// `pool` outlives the tails.
    explicit OpenTails(BufferPool& pool) : pool_(pool) {}

    /// Copies `rows` of segment `id`. `segmentRow`: number of the first of them in the whole
    /// segment, of which `frames` may hold a part.
    Status keep(const SegmentFrames& frames, const FrameRows& rows, const frame::FrameId& id,
                std::int64_t segmentRow, FrameTools& tools);
    /// The parts of a joined micro-batch; valid until the next change.
    struct Joined {
        std::vector<frame::RowRange> ranges;
        FrameKeys keys;
    };
    Result<Joined> rowsOf(const stream::JoinedBatch& joined) const;
    /// Drops tails that the open rest no longer names.
    void keepOnly(const std::vector<stream::RestPart>& parts);
    void clear() { tails_.clear(); }

 private:
    struct Tail {
        PooledBuffer buffer;
        frame::FrameView view;
        std::int64_t firstRow = 0;
        FrameKeys keys;
    };
    BufferPool& pool_;
    std::map<std::int64_t, Tail> tails_;  ///< by segment
};

}  // namespace millrace::segment
