#pragma once
// Dictionary-coded columns of numbers: numbers stored once, and each row's index.
//
// dictionary<int32, T> as PageDecoder may return it, for T of four or eight bytes. A null is one of
// the entries, with value 0, and the codes have no nulls. Entries may belong to no row.
// Threads: pure. Failure: kResourceExhausted.
#include <cstdint>
#include <memory>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::arrays {

/// Numbers, dates and times of four or eight bytes.
bool isWord(const arrow::DataType& type);
/// Whether the array is dictionary<int32, T> of such a T.
bool isNumberCodes(const arrow::Array& array);
/// Expands a dictionary of numbers to one number per row; other arrays are returned unchanged.
Result<std::shared_ptr<arrow::Array>> plainNumbers(std::shared_ptr<arrow::Array> values,
                                                   arrow::MemoryPool* pool);

/// Types that gatherFixed() supports: words, and bools.
bool isGathered(const arrow::DataType& type);
/// Gathers `entries` by `codes`, which must all be valid indices.
Result<std::shared_ptr<arrow::Array>> gatherFixed(const arrow::Array& entries,
                                                  const std::int32_t* codes, std::int64_t rows,
                                                  arrow::MemoryPool* pool);

}  // namespace millrace::arrays
