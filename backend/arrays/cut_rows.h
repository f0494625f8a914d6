#pragma once
// Some neighbouring rows of an array as an array of their own, which begins at its first row: an
// offset of 0, lists with their own elements alone. What is of one width and texts are not copied.
//
// Threads: pure functions. Failure: kResourceExhausted beyond the pool's limit.
#include <cstdint>
#include <memory>

#include "backend/core/status.h"

namespace arrow {
class Array;
class MemoryPool;
}  // namespace arrow

namespace millrace::arrays {

/// Rows [first, first + rows). A dictionary<int32, list> keeps only the lists that these rows have,
/// those between the least and the largest index: what is made once a stored list is not made for
/// each cut. Another dictionary stays the same object, whole.
Result<std::shared_ptr<arrow::Array>> cutRows(const std::shared_ptr<arrow::Array>& array,
                                              std::int64_t first, std::int64_t rows,
                                              arrow::MemoryPool* pool);

}  // namespace millrace::arrays
