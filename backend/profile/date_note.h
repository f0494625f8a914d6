#pragma once
// Recognizes columns of dates that are not of a type of times: texts that one format of strptime()
// reads (01/31/2026, 1.2.2026 10:00, Feb 1, 2026 3:05 PM), 20260131, milliseconds since 1970.
// Private to profile.
//
// Threads: pure.
#include <string>

#include "backend/profile/column_profile.h"

namespace millrace::profile {

/// The expression that makes a time of a text column, `strptime(day, '%d/%m/%Y')`; "" unless a
/// single format reads every text.
std::string timeOfTexts(const ColumnProfile& column);

/// For other columns of dates: a sentence with the expression that makes a time of the column, and
/// the other formats that read every value; "" if the values do not look like dates, or
/// timeOfTexts() reads them.
std::string dateNote(const ColumnProfile& column);

}  // namespace millrace::profile
