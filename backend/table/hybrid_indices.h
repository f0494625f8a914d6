#pragma once
// Encodes indices into a dictionary as Parquet's RLE/bit-packed hybrid. Private to table.
//
// Threads: pure. Failure: out of memory.
#include <cstdint>
#include <span>

#include "backend/core/status.h"

namespace arrow {
class BufferBuilder;
}  // namespace arrow

namespace millrace::table {

/// Bits per index below `count`; at least one.
int widthOfIndices(std::size_t count);

/// Writes long repetitions of an index as runs and packs the others, `width` bits each (1 to 32).
Status appendHybrid(std::span<const std::uint32_t> indices, int width, arrow::BufferBuilder& out);

/// Writes the header of a run: LEB128.
Status appendVarint(std::uint64_t value, arrow::BufferBuilder& out);

}  // namespace millrace::table
