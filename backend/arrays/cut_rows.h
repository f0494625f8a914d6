#pragma once
// Cuts adjacent rows of an array into an array of their own that begins at its first row: with an
// offset of 0, and lists with only their own elements. Fixed-width values and texts are not copied.
//
// Threads: pure functions. Failure: kResourceExhausted beyond the pool's limit.
#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::arrays {

/// Returns rows [first, first + rows). A dictionary<int32, list> keeps only the lists between the
/// smallest and the largest index of these rows, so that work per stored list is not repeated for
/// each cut. Any other dictionary stays the same object, complete.
Result<std::shared_ptr<arrow::Array>> cutRows(const std::shared_ptr<arrow::Array>& array,
                                              std::int64_t first, std::int64_t rows,
                                              arrow::MemoryPool* pool);

}  // namespace millrace::arrays
