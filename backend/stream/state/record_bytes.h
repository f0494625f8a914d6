#pragma once
// Converts a segment's record to bytes in a ring, and back (docs/formats/ring.md).
//
// Threads: any. Failure: a static message. The reader's bytes are in memory that the writer may
// still change: each value is copied, then checked.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/stream/state/segment_record.h"

namespace millrace::stream {

/// Returns null, or why no reader would accept this record.
const char* checkRecord(const SegmentRecord& record);

/// All but the epoch, which is in the ring's entry. `record` must be checked.
std::vector<std::byte> recordBytes(const SegmentRecord& record);

/// Fills all but the epoch. Returns null or the error.
const char* readRecord(const unsigned char* bytes, std::uint64_t size, SegmentRecord& record);

}  // namespace millrace::stream
