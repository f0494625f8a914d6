#pragma once
// Columns of numbers as a dictionary: numbers that are stored once, and of each row the place of
// its own.
//
// dictionary<int32, T> as PageDecoder gives it where it may, for T of four or eight bytes: a null
// is one of the entries, of value 0, and the codes have no nulls. Entries may belong to no row.
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
/// A dictionary of numbers as a number a row; other arrays as they are.
Result<std::shared_ptr<arrow::Array>> plainNumbers(std::shared_ptr<arrow::Array> values,
                                                   arrow::MemoryPool* pool);

/// What gatherFixed() takes: words, and bools.
bool isGathered(const arrow::DataType& type);
/// `entries` by `codes`, all of which are places of entries.
Result<std::shared_ptr<arrow::Array>> gatherFixed(const arrow::Array& entries,
                                                  const std::int32_t* codes, std::int64_t rows,
                                                  arrow::MemoryPool* pool);

}  // namespace millrace::arrays
