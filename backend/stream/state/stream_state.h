#pragma once
// The saved state of a position, always at a step's end. It has a cursor, and the order hash and
// rows of all ranks' micro-batches before it. It also has the sums of the segments wholly before
// it, and those of the segment that it is inside. It is the same text in every rank.
//
// One source for both sides: the C library writes these texts, the daemon and the loader read them
// (docs/formats/cursor.md). Threads: a value. Failure: an error message.
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
    /// Rows of epochs' last steps that were not whole and were dropped; the two above exclude them.
    std::int64_t rowsLeftOut = 0;
    SegmentSums sums;
    /// Sums of the whole segment that the cursor is inside. `segments` is 0 if it is inside none,
    /// or if the segment's record came behind the step's mark.
    SegmentSums opened;

    /// Members sorted by name, without spaces: equal states have equal texts.
    std::string toText() const;
    /// Reads a text into this object. Returns "" or the error.
    std::string read(std::string_view text);
};

}  // namespace millrace::stream
