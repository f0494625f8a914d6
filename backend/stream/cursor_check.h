#pragma once
// A cursor for people to hand on.
#include "backend/core/json.h"
#include "backend/stream/cursor.h"

namespace millrace::stream {

/// With a check over all members, so that Cursor::fromJson() refuses a text of which a number was
/// changed.
Json checkedJson(const Cursor& cursor);

}  // namespace millrace::stream
