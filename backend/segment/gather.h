#pragma once
// The loops that copy columns and records into a frame. They write blocks in strips of rows, so
// that the part being written stays in the first-level cache.
#include <cstddef>
#include <cstdint>
#include <span>

#include <xmmintrin.h>

#include "backend/segment/chunk.h"
#include "backend/segment/row_records.h"

namespace millrace::segment {

inline void prefetchBytes(const void* from, std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += 64) {
        _mm_prefetch(static_cast<const char*>(from) + at, _MM_HINT_T0);
    }
}

/// out[r * stride + j] = columns[j][from + r]; stride >= columns.size().
void copyDense(std::span<const float* const> columns, std::int64_t from, std::int64_t rows,
               float* out, std::size_t stride);
/// The place in a frame that takes the values of picked rows.
struct RecordTarget {
    std::uint32_t* files = nullptr;
    std::uint64_t* numbers = nullptr;
    std::span<std::byte* const> values;  ///< in the order of RecordLayout::values()
    std::byte* dense = nullptr;
};
/// Copies row ids, values and dense blocks of picked rows from their records.
void gatherRecords(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                   const RecordLayout& layout, const RecordTarget& target);
/// Copies the slices of picked rows' lists from their records to to[field][pick].
void gatherSlices(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                  std::span<const RecordLayout::Field> fields, std::size_t stride,
                  std::span<ListSlice* const> to);
/// Copies values of `bytes` bytes each from their columns.
void gatherWide(std::span<const Chunk> chunks, std::span<const RowPick> picks, std::size_t column,
                std::size_t bytes, std::byte* out);
/// Copies the elements, of `bytes` bytes each, of the lists at `slices` (one per pick). The caller
/// has set offsets[0].
void gatherLists(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                 std::span<const ListSlice> slices, std::size_t column, std::size_t bytes,
                 std::byte* out, std::int64_t* offsets);

/// Copies rows [from, from + rows) of a column whose lists repeat, each row's list in full. `end`:
/// number of values written before; returns the number written now. Fills offsets[1 .. rows].
std::int64_t expandLists(const Chunk::Column& column, std::int64_t from, std::int64_t rows,
                         std::size_t bytes, std::byte* out, std::int64_t* offsets,
                         std::int64_t end);
/// Copies the weights of the elements of weighted lists.
void gatherWeights(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                   std::span<const ListSlice> slices, std::size_t column, float* out);

}  // namespace millrace::segment
