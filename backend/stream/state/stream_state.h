#pragma once
// The state that a position is saved as: a cursor at a step's end, the order hash and rows of all
// micro-batches before it, of all ranks, the sums of the segments that lie wholly before it, and
// those of the segment that it lies inside. Every rank's is the same text.
//
// One source for both sides: the C library writes these texts, the daemon and the loader read
// them (docs/formats/cursor.md). Threads: a value. Failure: a sentence.
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/stream/state/cursor.h"
#include "backend/stream/state/order_hash.h"
#include "backend/stream/state/segment_record.h"

namespace millrace::stream {

struct StreamState {
    static constexpr int kVersion = 2;
    Cursor cursor;
    OrderHash orderHash;
    std::int64_t rowsDelivered = 0;  ///< of all ranks' frames before the cursor
    /// Of epochs' last steps that were not whole and were dropped: in neither of the two before.
    std::int64_t rowsLeftOut = 0;
    SegmentSums sums;
    /// Of the segment that the cursor lies inside, whole; `segments` is 0 where it lies inside
    /// none, or where the segment's record stood behind the step's mark.
    SegmentSums opened;

    /// Members by name, without spaces: equal states have equal texts.
    std::string toText() const;
    /// Reads a text into this one. Empty, or what is wrong with it.
    std::string read(std::string_view text);
};

}  // namespace millrace::stream
