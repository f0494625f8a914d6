#pragma once
// Cuts frames out of segments: copies from the decoder's columns into the memory that the frame is
// read from.
//
// Rows that are delivered in order are copied column by column, in runs; rows that are picked in
// another order are copied from their records.
// Threads: one gatherer per thread; it reuses its scratch memory between frames.
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "backend/core/hash.h"
#include "backend/core/status.h"
#include "backend/frame/frame.h"
#include "backend/segment/batch_meter.h"
#include "backend/segment/row_records.h"
#include "backend/segment/segment_output.h"
#include "backend/segment/stage_counters.h"

namespace millrace::segment {

class FrameGatherer {
 public:
    /// Rows [from, from + rows) of a chunk that are adjacent in the frame.
    struct Run {
        const Chunk* chunk;
        std::int64_t from, rows;
    };

    /// `counters`: receive the columns' times; null: nothing is counted.
    explicit FrameGatherer(const frame::FrameLayout& layout, StageCounters* counters = nullptr)
        : writer_(layout), records_(layout), counters_(counters) {}

    /// Bytes of the frame with rows [first, first + rows) of the segment.
    Result<std::uint64_t> measure(const SegmentOutput& output, std::int64_t first,
                                  std::int64_t rows);
    /// Fills `memory` (of the size measured last) with that frame.
    Status write(std::span<std::byte> memory, const frame::FrameId& id);
    /// stream::rowIdsHash() of these rows: stands for a micro-batch that nobody here reads.
    Sum128 rowIdsHash(const SegmentOutput& output, std::int64_t first, std::int64_t rows);
    /// Keys of the rows measured last, from member `which` of their chunks; empty if the chunks
    /// have none.
    std::vector<std::uint64_t> keys(const std::uint64_t* Chunk::* which) const;
    /// The mix of the rows measured last.
    BatchMix mix();

 private:
    void select(const SegmentOutput& output, std::int64_t first, std::int64_t rows);
    void readKeys(const std::uint64_t* Chunk::* which, std::vector<std::uint64_t>& keys) const;
    void findRuns(std::span<const RowPick> picks);
    std::span<const RowPick> listPicks(std::size_t column) const;
    void findItems();
    void findSlices();
    std::uint64_t runValues(std::size_t column) const;
    void writeColumn(std::size_t column);
    void writeTimed();
    void writeRows();
    void writeDense(std::size_t column);
    void writeFixed(std::size_t column, std::size_t width);
    void writeList(std::size_t column, std::size_t width);
    void writeRuns(std::size_t column, std::size_t width);
    void writeWeights(std::size_t column);

    frame::FrameWriter writer_;
    const RecordLayout records_;
    const SegmentOutput* output_ = nullptr;
    std::span<const RowPick> picks_;  ///< empty: use runs_
    std::vector<Run> runs_;
    std::vector<std::uint64_t> counts_;
    std::vector<RowPick> items_;  ///< deduplicated columns: the first row of each stored list
    /// By chunk and group: the last frame that had the group, and the group's index in `items_`.
    std::vector<std::vector<std::pair<std::uint64_t, std::uint32_t>>> met_;
    std::uint64_t frame_ = 0;
    std::vector<std::uint32_t> inverse_;          ///< index in `items_` of each row
    std::vector<std::vector<ListSlice>> slices_;  ///< by column: slice of each of its listPicks()
    std::vector<std::byte*> valuesTo_;            ///< in the order of RecordLayout::values()
    std::vector<ListSlice*> slicesTo_;
    std::vector<RecordLayout::Field> sliceFields_;
    BatchMeter meter_;
    std::vector<std::uint64_t> requestKeys_, userKeys_;
    StageCounters* const counters_;
    std::uint64_t frames_ = 0;
    std::vector<std::pair<std::string, std::int64_t>> times_;  ///< of columns 2 and up
};

}  // namespace millrace::segment
