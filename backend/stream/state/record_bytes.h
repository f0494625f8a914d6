#pragma once
// A segment's record as bytes in a ring, both ways (docs/formats/ring.md).
//
// Threads: any. Failure: a static sentence. The reader's bytes are in memory that the writer may
// still change: each value is copied, then checked.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "backend/stream/state/segment_record.h"

namespace millrace::stream {

/// Null, or why no reader would take this record.
const char* checkRecord(const SegmentRecord& record);

/// All but the epoch, which stands in the ring's entry. Of a checked record.
std::vector<std::byte> recordBytes(const SegmentRecord& record);

/// Fills all but the epoch. Null, or what is wrong.
const char* readRecord(const unsigned char* bytes, std::uint64_t size, SegmentRecord& record);

}  // namespace millrace::stream
