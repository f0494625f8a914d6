#pragma once
// The loops that copy columns into a frame. Dense blocks are written in strips of rows, so that the
// part being written stays in the first-level cache.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/segment/segment_output.h"

namespace millrace::segment {

/// out[r * columns.size() + j] = columns[j][from + r].
void copyDense(std::span<const float* const> columns, std::int64_t from, std::int64_t rows,
               float* out);
/// The same for picked rows; `width` dense columns.
void gatherDense(std::span<const Chunk> chunks, std::span<const RowPick> picks, std::size_t width,
                 float* out);
/// Values of `bytes` bytes each.
void gatherFixed(std::span<const Chunk> chunks, std::span<const RowPick> picks, std::size_t column,
                 std::size_t bytes, std::byte* out);
/// Elements of `bytes` bytes each; offsets[0] stands already.
void gatherLists(std::span<const Chunk> chunks, std::span<const RowPick> picks, std::size_t column,
                 std::size_t bytes, std::byte* out, std::int64_t* offsets);

/// Rows [from, from + rows) of a column whose lists repeat, each row's list in full. `end`: values
/// written before; returns those written now. offsets[1 .. rows] are filled.
std::int64_t expandLists(const Chunk::Column& column, std::int64_t from, std::int64_t rows,
                         std::size_t bytes, std::byte* out, std::int64_t* offsets,
                         std::int64_t end);
/// The weights beside the elements of a weighted list.
void gatherWeights(std::span<const Chunk> chunks, std::span<const RowPick> picks,
                   std::size_t column, float* out);

}  // namespace millrace::segment
