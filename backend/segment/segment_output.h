#pragma once
// The result of computing a segment: its kept rows in order, from which frames are cut.
//
// The rows stay in the decoder's columns. A frame is gathered straight into the memory that it will
// be read from when it is delivered. So nothing is held twice, and several threads may gather
// frames of one segment at once.
// Threads: immutable once made. Owns: the columns' memory.
#include <cstdint>
#include <vector>

#include "backend/segment/chunk.h"
#include "backend/segment/row_counts.h"

namespace millrace::segment {

/// The part of a segment that is computed at a time. The first segment of a stream whose rows keep
/// their order is computed in two parts, so that its first rows need not wait for the others. The
/// head is its first `headSplits` splits and the first `headRows` rows of the next split, less
/// those of a request that continues behind them. The rest is the other rows.
struct SegmentPart {
    enum class Kind { kWhole, kHead, kRest };
    Kind kind = Kind::kWhole;
    std::size_t headSplits = 0;
    std::int64_t headRows = 0;
};

class SegmentOutput {
 public:
    std::uint32_t epoch = 0;
    std::int64_t segment = 0;
    RowCounts counts;  ///< of its own splits; prepended rows are not counted again
    std::vector<Chunk> chunks;
    /// The rows in order; empty: chunk after chunk, in stored order.
    std::vector<RowPick> order;
    bool hasRecords = false;  ///< all chunks have records: runs are short
    std::int64_t decodedBytes = 0;

    /// Rows at the start of the first chunks that are not part of this output.
    std::int64_t skippedRows = 0;

    std::int64_t rowsKept() const { return rowsKept_; }
    void countRows() {
        rowsKept_ = -skippedRows;
        for (const Chunk& chunk : chunks) {
            rowsKept_ += chunk.rows;
        }
    }
    /// Puts the rows of `before` from `firstRow` on in front of these; neither may have an order.
    void prepend(const SegmentOutput& before, std::int64_t firstRow);

 private:
    std::int64_t rowsKept_ = 0;
};

}  // namespace millrace::segment
