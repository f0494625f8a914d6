#pragma once
// The kept rows of one split after the recipe ran: columns in the decoder's memory.
//
// Threads: immutable once made. Owns: the columns' memory.
// Failure: kInternal when a batch does not have the layout's columns, kResourceExhausted beyond the
// pool's limit.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backend/core/status.h"
#include "backend/frame/frame.h"
#include "backend/recipe/feature_batch.h"
#include "backend/segment/memory/buffer_pool.h"

namespace millrace::segment {

class RecordLayout;

/// A kept row: the split it came from (its index in the segment) and its index among that split's
/// kept rows.
struct RowPick {
    std::uint32_t chunk = 0;
    std::uint32_t row = 0;
};

/// The range of a chunk's values that one list has.
struct ListSlice {
    std::int32_t begin = 0, count = 0;
};

/// One split's kept rows as raw columns of the layout.
struct Chunk {
    struct Column {
        const std::byte* values = nullptr;
        const std::int32_t* offsets = nullptr;  ///< lists: items + 1 entries, absolute
        const std::int32_t* items = nullptr;    ///< list index of each row; null: row r has list r
        const float* weights = nullptr;         ///< weighted lists: parallel to `values`
        std::int64_t item(std::int64_t row) const { return items == nullptr ? row : items[row]; }
        /// Whether two rows have lists of the same values, of `width` bytes each.
        bool isSameList(std::size_t width, std::int64_t a, std::int64_t b) const;
        ListSlice slice(std::int64_t row) const {
            const std::int64_t at = item(row);
            return {offsets[at], offsets[at + 1] - offsets[at]};
        }
    };
    std::uint32_t file = 0;
    std::int64_t rows = 0;
    const std::uint64_t* rowNumbers = nullptr;
    /// By row, for BatchMeter; null: the spec names no such column.
    const std::uint64_t *requestKeys = nullptr, *userKeys = nullptr;
    std::vector<const float*> dense;  ///< by column
    /// The rows as RecordLayout's records. Filled only if rows are picked in another order.
    const std::byte* records = nullptr;
    std::vector<Column> columns;  ///< by column of the layout; row ids and dense are unused
    /// Group of each kept row, numbered in order of appearance. A group is adjacent rows of one
    /// request whose deduplicated lists are all equal. Empty when the layout deduplicates nothing.
    std::vector<std::uint32_t> groups;
    std::vector<std::shared_ptr<const void>> owners;
    std::vector<std::shared_ptr<const void>> rowOwners;  ///< of columns that the records copy

    /// Converts a batch to the layout's types: masks and bools to bytes, nulls of carried columns
    /// to 0 or empty. kInternal when the batch does not have the layout's columns.
    static Result<Chunk> make(recipe::FeatureBatch batch, const frame::FrameLayout& layout,
                              BufferPool& pool);
    /// Fills `records` and releases the columns that the records copy.
    Status makeRecords(const RecordLayout& layout, BufferPool& pool);
    /// Fills `groups` when the layout deduplicates. `requestStarts`: the rows of the file at which
    /// requests start, ascending. `isRequired`: a list that changes within a request is an error
    /// (kInvalidArgument with row and column); otherwise it starts another group.
    Status findGroups(const frame::FrameLayout& layout,
                      std::span<const std::uint64_t> requestStarts, bool isRequired);
};

}  // namespace millrace::segment
