#pragma once
// Finds text columns that hold numbers as people write them ("1,234.56", "45.3%", "$15.81",
// "1 234,56 EUR") and says which expression reads them.
//
// Used by first_spec.cpp. Private to profile. Threads: pure.
#include <string>

#include "backend/profile/column_profile.h"

namespace millrace::profile {

/// "'price' looks like a number (...)"; "" if the column's first values do not look like it.
std::string numberNote(const ColumnProfile& column);

}  // namespace millrace::profile
