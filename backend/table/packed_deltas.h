#pragma once
// Integers as packed differences, Parquet's DELTA_BINARY_PACKED: what pages/delta_packed reads.
// Private to the room.
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/ (delta encoding).
// Blocks of 128 (32 bits) or 256 values (64 bits) in four miniblocks, the last miniblock filled up
// with zeros: byte for byte what Arrow's encoder writes, at a third of its time.
// Threads: pure. Failure: of memory.
#include <cstdint>
#include <span>

#include "backend/core/status.h"

namespace arrow {
class BufferBuilder;
}  // namespace arrow

namespace millrace::table {

/// All values of a page.
Status appendDeltas(std::span<const std::int32_t> values, arrow::BufferBuilder& out);
Status appendDeltas(std::span<const std::int64_t> values, arrow::BufferBuilder& out);

}  // namespace millrace::table
