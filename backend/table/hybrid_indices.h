#pragma once
// Indices into a dictionary as Parquet's RLE/bit-packed hybrid. Private to the room.
//
// Threads: pure. Failure: of memory.
#include <cstdint>
#include <span>

#include "backend/core/status.h"

namespace arrow {
class BufferBuilder;
}  // namespace arrow

namespace millrace::table {

/// Bits for indices below `count`; at least one.
int widthOfIndices(std::size_t count);

/// Long runs of one index as such, the others packed, `width` bits each (1 to 32).
Status appendHybrid(std::span<const std::uint32_t> indices, int width, arrow::BufferBuilder& out);

/// The head of a run: LEB128.
Status appendVarint(std::uint64_t value, arrow::BufferBuilder& out);

}  // namespace millrace::table
