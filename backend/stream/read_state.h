#pragma once
// Cursors and states as they come from people, files and peers, read with a Status.
//
// What the texts mean is stream/state's, which knows no Status; here stand the errors, the check of
// a cursor that a person handed on, and whether a cursor fits a stream. Pure functions.
// Failure: kInvalidArgument with "cursor: " or "state: " and what is wrong.
#include <cstdint>
#include <string_view>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/stream/state/stream_state.h"

namespace millrace::stream {

/// A text with a member `check` must be the one that checkedJson() gave.
Result<Cursor> readCursor(std::string_view text);
Result<StreamState> readState(std::string_view text);

/// A cursor for people to hand on: with a check over all members, so that readCursor() refuses a
/// text of which a number was changed.
Json checkedJson(const Cursor& cursor);

/// kFailedPrecondition with a sentence when it was taken from another stream or plan,
/// kInvalidArgument when it cannot belong to this many segments of this micro-batch size.
Status checkCursor(const Cursor& cursor, std::string_view streamHash, std::string_view planHash,
                   std::int64_t numSegments, std::int64_t microRows);

}  // namespace millrace::stream
