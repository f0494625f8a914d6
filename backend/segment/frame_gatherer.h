#pragma once
// Cuts frames out of segments: the copy from the decoder's columns into the memory that the frame
// is read from.
//
// Rows that stand in order are copied column by column, in runs; picked ones from their records.
// Threads: one gatherer a thread; it keeps its scratch memory between frames.
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
    /// Rows [from, from + rows) of a chunk, that stand next to each other in the frame.
    struct Run {
        const Chunk* chunk;
        std::int64_t from, rows;
    };

    /// `counters`: of the columns' times; null: not counted.
    explicit FrameGatherer(const frame::FrameLayout& layout, StageCounters* counters = nullptr)
        : writer_(layout), records_(layout), counters_(counters) {}

    /// Bytes of the frame with rows [first, first + rows) of the segment.
    Result<std::uint64_t> measure(const SegmentOutput& output, std::int64_t first,
                                  std::int64_t rows);
    /// Fills `memory` (as measured last) with that frame.
    Status write(std::span<std::byte> memory, const frame::FrameId& id);
    /// stream::rowIdsHash() of these rows: what stands for a micro-batch that nobody here reads.
    Sum128 rowIdsHash(const SegmentOutput& output, std::int64_t first, std::int64_t rows);
    /// Keys of the rows measured last, `which` of their chunks; empty when these have none.
    std::vector<std::uint64_t> keys(const std::uint64_t* Chunk::* which) const;
    /// How these rows are mixed.
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
    std::span<const RowPick> picks_;  ///< empty: runs_
    std::vector<Run> runs_;
    std::vector<std::uint64_t> counts_;
    std::vector<RowPick> items_;  ///< deduplicated: the first row of each stored list
    /// By chunk and group: the frame that met it last, and the group's index in `items_`.
    std::vector<std::vector<std::pair<std::uint64_t, std::uint32_t>>> met_;
    std::uint64_t frame_ = 0;
    std::vector<std::uint32_t> inverse_;          ///< and of each row its index among them
    std::vector<std::vector<ListSlice>> slices_;  ///< by column: of each of its listPicks()
    std::vector<std::byte*> valuesTo_;            ///< as RecordLayout::values()
    std::vector<ListSlice*> slicesTo_;
    std::vector<RecordLayout::Field> sliceFields_;
    BatchMeter meter_;
    std::vector<std::uint64_t> requestKeys_, userKeys_;
    StageCounters* const counters_;
    std::uint64_t frames_ = 0;
    std::vector<std::pair<std::string, std::int64_t>> times_;  ///< of the columns from 2 on
};

}  // namespace millrace::segment
