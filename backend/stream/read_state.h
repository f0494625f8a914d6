#pragma once
// Reads cursors and states from users, files and peers, and returns a Status.
//
// stream/state parses the texts, without Status. This file adds the errors, the check of a cursor
// that a user passed on, and whether a cursor fits a stream. Pure functions.
// Failure: kInvalidArgument with "cursor: " or "state: " and the reason.
#include <cstdint>
#include <string_view>

#include "backend/core/status.h"
#include "backend/stream/state/stream_state.h"
#include "backend/text/json.h"

namespace millrace::stream {

/// If the text has a member `check`, it must be unchanged since checkedJson() returned it.
Result<Cursor> readCursor(std::string_view text);
Result<StreamState> readState(std::string_view text);

/// A cursor for users to pass on, with a check over all members: readCursor() rejects the text if a
/// number in it was changed.
Json checkedJson(const Cursor& cursor);

/// kFailedPrecondition with a message if it was taken from another stream or plan, kInvalidArgument
/// if it cannot belong to this number of segments of this micro-batch size.
Status checkCursor(const Cursor& cursor, std::string_view streamHash, std::string_view planHash,
                   std::int64_t numSegments, std::int64_t microRows);

}  // namespace millrace::stream
