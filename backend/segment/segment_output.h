#pragma once
// What a segment yields: its kept rows in order, from which frames are cut.
//
// The rows stay in the decoder's columns; a frame is gathered straight into the memory it will be
// read from, when its turn comes. So nothing is held twice, and the frames of one segment may be
// gathered by several threads at once.
// Threads: immutable once made. Owns: the columns' memory.
#include <cstdint>
#include <vector>

#include "backend/segment/chunk.h"
#include "backend/segment/row_counts.h"

namespace millrace::segment {

/// What of a segment is computed at a time. The first segment of a stream whose rows keep their
/// order comes in two parts, so that its first rows need not wait for the others: the head, its
/// first `headSplits` splits and the first `headRows` rows of the next one (less those of a request
/// that goes on behind them), and the rest.
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
    RowCounts counts;  ///< of its own splits; rows put in front of them are not counted again
    std::vector<Chunk> chunks;
    /// The rows in order; empty: chunk after chunk as they stand.
    std::vector<RowPick> order;
    bool hasRecords = false;  ///< all chunks: rows that stand next to each other are rare
    std::int64_t decodedBytes = 0;

    /// Rows of the first chunks that are not part of this.
    std::int64_t skippedRows = 0;

    std::int64_t rowsKept() const { return rowsKept_; }
    void countRows() {
        rowsKept_ = -skippedRows;
        for (const Chunk& chunk : chunks) {
            rowsKept_ += chunk.rows;
        }
    }
    /// Puts the rows of `before` from `firstRow` on in front of these; neither has an order.
    void prepend(const SegmentOutput& before, std::int64_t firstRow);

 private:
    std::int64_t rowsKept_ = 0;
};

}  // namespace millrace::segment
