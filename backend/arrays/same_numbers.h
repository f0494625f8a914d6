#pragma once
// Whether numbers that were read of texts, or floats of doubles, still are the stored values.
//
// Threads: pure functions. Failure: kInvalidArgument with the row and the value.
#include <string_view>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::arrays {

/// `numbers` are `stored` as a cast made them. Refuses texts in hexadecimal, whole numbers beyond
/// 2^53 (of floats 2^24) that the type does not hold, and finite values that became infinite. Other
/// fractions are rounded, as everywhere. Types that are neither texts nor doubles are not looked
/// at.
Status checkSameNumbers(const arrow::ChunkedArray& stored, const arrow::Array& numbers,
                        std::string_view place, arrow::MemoryPool* pool);

}  // namespace millrace::arrays
