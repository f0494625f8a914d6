#pragma once
// What a segment yields: its kept rows in order, from which frames are cut.
//
// The rows stay in the decoder's columns; a frame is gathered straight into the memory it will be
// read from, when its turn comes. So nothing is held twice, and the frames of one segment may be
// gathered by several threads at once.
// Threads: immutable once made. Owns: the columns' memory.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/frame/frame.h"
#include "backend/recipe/feature_batch.h"
#include "backend/segment/buffer_pool.h"
#include "backend/segment/stage_counters.h"

namespace millrace::segment {

/// A kept row: the split it came from (its place in the segment) and its place among that split's
/// kept rows.
struct RowPick {
    std::uint32_t chunk = 0;
    std::uint32_t row = 0;
};

/// One split's kept rows as raw columns of the layout.
struct Chunk {
    struct Column {
        const std::byte* values = nullptr;
        const std::int32_t* offsets = nullptr;  ///< lists: items + 1, absolute
        const std::int32_t* items = nullptr;    ///< of each row its list; null: the row's own
        const float* weights = nullptr;         ///< weighted lists: beside `values`
        std::int64_t item(std::int64_t row) const { return items == nullptr ? row : items[row]; }
    };
    std::uint32_t file = 0;
    std::int64_t rows = 0;
    const std::uint64_t* rowNumbers = nullptr;
    std::vector<const float*> dense;  ///< by column
    /// [rows, dense.size()], row-major: made where rows are picked in another order.
    const float* denseRows = nullptr;
    std::vector<Column> columns;  ///< by column of the layout; row ids and dense are unused
    /// Of each kept row its group: neighbours of one request whose deduplicated lists are all the
    /// same, numbered as they come. Empty when the layout deduplicates nothing.
    std::vector<std::uint32_t> groups;
    std::vector<std::shared_ptr<const void>> owners;

    /// Brings a batch to the layout's types: masks and bools to bytes, nulls of carried columns to
    /// 0 or empty. kInternal when the batch does not have the layout's columns.
    static Result<Chunk> make(recipe::FeatureBatch batch, const frame::FrameLayout& layout,
                              BufferPool& pool);
    /// Fills `denseRows`: a row picked on its own is then read in one piece.
    Status turnDense(BufferPool& pool);
    /// Fills `groups` when the layout deduplicates. `requestStarts`: the rows of the file at which
    /// requests start, ascending. `isRequired`: a list that changes within a request is an error
    /// (kInvalidArgument with row and column), else the start of another group.
    Status findGroups(const frame::FrameLayout& layout,
                      std::span<const std::uint64_t> requestStarts, bool isRequired);
};

class SegmentOutput {
 public:
    std::uint32_t epoch = 0;
    std::int64_t segment = 0;
    std::int64_t rowsScanned = 0;
    std::int64_t rowsPruned = 0;
    std::vector<recipe::StepCount> steps;
    std::vector<recipe::IdCount> vocabularies;
    std::vector<Chunk> chunks;
    /// The rows in order; empty: chunk after chunk as they stand.
    std::vector<RowPick> order;
    std::int64_t decodedBytes = 0;

    std::int64_t rowsKept() const { return rowsKept_; }
    void countRows();

 private:
    std::int64_t rowsKept_ = 0;
};

/// Cuts frames out of segments. One a thread; keeps its scratch memory between frames.
class FrameGatherer {
 public:
    /// `counters`: of the columns' times; null: not counted.
    explicit FrameGatherer(const frame::FrameLayout& layout, StageCounters* counters = nullptr)
        : writer_(layout), counters_(counters) {}

    /// Bytes of the frame with rows [first, first + rows) of the segment.
    Result<std::uint64_t> measure(const SegmentOutput& output, std::int64_t first,
                                  std::int64_t rows);
    /// Fills `memory` (as measured last) with that frame.
    Status write(std::span<std::byte> memory, const frame::FrameId& id);

 private:
    /// Rows [from, from + rows) of a chunk, that stand next to each other in the frame.
    struct Run {
        const Chunk* chunk;
        std::int64_t from, rows;
    };
    void select(const SegmentOutput& output, std::int64_t first, std::int64_t rows);
    std::uint64_t listValues(std::size_t column) const;
    void findItems();
    void writeColumn(std::size_t column);
    void writeTimed();
    void writeRowIds();
    void writeDense(std::size_t column);
    void writeFixed(std::size_t column, std::size_t width);
    void writeList(std::size_t column, std::size_t width);
    void writeWeights(std::size_t column);

    frame::FrameWriter writer_;
    const SegmentOutput* output_ = nullptr;
    std::span<const RowPick> picks_;  ///< empty: runs_
    std::vector<Run> runs_;
    std::vector<std::uint64_t> counts_;
    std::vector<RowPick> items_;  ///< deduplicated: the first row of each stored list
    /// By chunk and group: the frame that met it last, and the group's place in `items_`.
    std::vector<std::vector<std::pair<std::uint64_t, std::uint32_t>>> met_;
    std::uint64_t frame_ = 0;
    std::vector<std::uint32_t> inverse_;  ///< and of each row its place among them
    StageCounters* const counters_;
    std::uint64_t frames_ = 0;
    std::vector<std::pair<std::string, std::int64_t>> times_;  ///< of the columns from 2 on
};

}  // namespace millrace::segment
