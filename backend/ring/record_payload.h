#pragma once
// A segment's record as bytes in the ring, read (docs/formats/frame.md, "Ring").
//
// The bytes are in memory that the writer may still change: each value is copied, then checked.
// Threads: any. Failure: a static sentence. No dependencies.
#include <cstdint>

#include "backend/ring/feed_state.h"

namespace millrace::ring {

/// Fills all but the epoch. Null, or what is wrong.
const char* readSegmentPayload(const unsigned char* payload, std::uint64_t bytes,
                               StateRecord& record);

}  // namespace millrace::ring
