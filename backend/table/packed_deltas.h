#pragma once
// Encodes integers as packed differences, Parquet's DELTA_BINARY_PACKED: the counterpart of
// pages/delta_packed. Private to table.
//
// Format: https://parquet.apache.org/docs/file-format/data-pages/encodings/ (delta encoding).
// Blocks of 128 (32 bits) or 256 values (64 bits) have four miniblocks, the last one filled up with
// zeros: byte for byte what Arrow's encoder writes, in a third of its time.
// Threads: pure. Failure: out of memory.
#include <cstdint>
#include <span>

#include "backend/core/status.h"

namespace arrow {
class BufferBuilder;
}  // namespace arrow

namespace millrace::table {

/// Appends all values of a page.
Status appendDeltas(std::span<const std::int32_t> values, arrow::BufferBuilder& out);
Status appendDeltas(std::span<const std::int64_t> values, arrow::BufferBuilder& out);

}  // namespace millrace::table
