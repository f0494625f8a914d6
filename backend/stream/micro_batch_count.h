#pragma once
// Pure accounting of micro-batches: full ones, tails, the open rest, numbers.
//
// The input is the number of kept rows of each segment, in order. The output is which rows make
// which micro-batch. It moves no data. Threads: one owner.
#include <cstdint>
#include <optional>
#include <vector>

#include "backend/stream/state/cursor.h"

namespace millrace::stream {

/// Rows [from, from + rows) of a segment's kept rows, in the segment's order.
struct Piece {
    /// `from` of a piece known only from a cursor: the segment's last `rows` rows.
    static constexpr std::int64_t kFromEnd = -1;
    std::int64_t segment = 0;
    std::int64_t from = 0;
    std::int64_t rows = 0;
    bool operator==(const Piece&) const = default;
};

/// A micro-batch that the rest yields: it is joined from pieces.
struct JoinedBatch {
    std::int64_t number = 0;
    std::int64_t segment = 0;  ///< the segment that completed it; names its frame
    std::int64_t index = 0;    ///< its index in that segment
    std::int64_t rows = 0;
    std::vector<Piece> pieces;
};

/// A segment's share of the sequence. Its first `lead` rows fill up the rest of an earlier
/// partition: that joined micro-batch comes first. Full micro-batch i (0 <= i < full) has the index
/// firstFull() + i in the segment, the number first + firstFull() + i, and rows [lead + i *
/// microRows, lead + (i + 1) * microRows) of the segment. Without a lead the joined micro-batch
/// comes last.
struct SegmentShare {
    std::int64_t segment = 0;
    std::int64_t first = 0;
    std::int64_t lead = 0;
    std::int64_t full = 0;
    std::int64_t tailRows = 0;  ///< rows after the full ones: they join the rest
    std::optional<JoinedBatch> joined;
    std::int64_t count() const { return full + (joined ? 1 : 0); }
    std::int64_t firstFull() const { return lead > 0 ? 1 : 0; }
};

class MicroBatchCount {
 public:
    /// Requires microRows >= 1.
    explicit MicroBatchCount(std::int64_t microRows);
    /// Resumes at a cursor (checked before): the next segment to add is cursor.segment, numbers
    /// continue from cursor.segmentFirst(). The caller drops micro-batches before cursor.next.
    /// Pieces of the cursor's rest have from = kFromEnd.
    MicroBatchCount(std::int64_t microRows, const Cursor& cursor);

    /// Adds the next segment in order, with its number of kept rows. `partitionStart`: the first
    /// segment of its partition (batch.order by a column; 0: all segments are one partition). Rows
    /// of an earlier partition leave the rest with the first segment that can fill a micro-batch
    /// with them, before its other rows.
    SegmentShare add(std::int64_t segment, std::int64_t rows, std::int64_t partitionStart = 0);

    /// Whether the rest holds rows of segments before `partitionStart`.
    bool isOfEarlier(std::int64_t partitionStart) const {
        return !pieces_.empty() && pieces_.front().segment < partitionStart;
    }

    /// Ends an epoch: returns the rest as the last, shorter micro-batch, if it is not empty, named
    /// (numSegments, 0). Afterwards the rest is empty and next() is the epoch's total.
    std::optional<JoinedBatch> finish(std::int64_t numSegments);
    /// Starts an epoch: numbers start at 0. Only after finish().
    void startEpoch();

    std::int64_t rows() const { return rows_; }  ///< always below microRows
    std::int64_t next() const { return next_; }
    /// The rest as a cursor holds it, oldest first.
    std::vector<RestPart> parts() const;

 private:
    std::int64_t microRows_;
    std::int64_t rows_ = 0;
    std::int64_t next_ = 0;
    std::vector<Piece> pieces_;
};

}  // namespace millrace::stream
