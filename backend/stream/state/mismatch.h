#pragma once
// Why a stream cannot resume from a cursor: one wording for the loader and the feed.
//
// The plan alone differs if files, side tables or counted vocabularies do. The stream hash may
// differ because of the files, too: their number decides the segments' size. Pure functions.
#include <string_view>

#include "backend/stream/state/cursor.h"

namespace millrace::stream {

/// Returns the reason, or "" if a stream with these hashes can resume from the cursor.
inline std::string_view mismatchOf(const Cursor& cursor, std::string_view streamHash,
                                   std::string_view planHash) {
    const bool isOtherStream = cursor.streamHash != streamHash;
    if (cursor.planHash == planHash) {
        return isOtherStream ? "keys that shape the stream (dataset, recipe, labels, features, "
                               "seed, ...) were changed"
                             : "";
    }
    return isOtherStream ? "keys that shape the stream (dataset, recipe, labels, features, seed, "
                           "...) or the dataset's files were changed"
                         : "the dataset's files, a side table or a counted vocabulary were changed";
}

}  // namespace millrace::stream
