#pragma once
// The state that a rank's position is saved as (SEMANTICS 4): a cursor, the order hash of this
// rank's micro-batches before it, and the sums of the segments that lie wholly before it.
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
    static constexpr int kVersion = 1;
    Cursor cursor;
    OrderHash orderHash;
    std::int64_t rowsDelivered = 0;  ///< rows of this rank's frames before the cursor
    SegmentSums sums;

    /// Members by name, without spaces: equal states have equal texts.
    std::string toText() const;
    /// Reads a text into this one. Empty, or what is wrong with it.
    std::string read(std::string_view text);
    /// Adds the state of another rank at the same cursor: order hash and rows add up, sums stay the
    /// first rank's. False: it is of another cursor.
    bool merge(const StreamState& other);
};

}  // namespace millrace::stream
