#pragma once
// Recognizes columns of dates that are not of a type of times: 01/31/2026, 31.01.2026, 01-Jan-2026,
// 20260131, milliseconds since 1970. Private to profile.
//
// Threads: pure.
#include <string>

#include "backend/profile/column_profile.h"

namespace millrace::profile {

/// A sentence with the expression that makes a date or a time of the column; "" if its first values
/// do not look like dates.
std::string dateNote(const ColumnProfile& column);

}  // namespace millrace::profile
