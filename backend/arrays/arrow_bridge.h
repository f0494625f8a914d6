#pragma once
// Arrow's errors and types as ours, and back: the pinned type of each spec type.
//
// Pinned: bool, int8..uint64, float, double, decimal128, utf8, date32, timestamp[us] without zone,
// and lists of these. Everything that is read is brought to its pinned type (SplitReader): halves
// are floats, times of day int64 microseconds, binaries of any kind their bytes as texts, decimals
// of more than 38 digits and decimals in lists doubles, dictionaries and runs their values,
// extension types what they are stored as.
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>

#include "backend/core/status.h"
#include "backend/expr/schema.h"

namespace arrow {
class Array;
class ChunkedArray;
class DataType;
class MemoryPool;
}  // namespace arrow

namespace millrace::arrays {

/// OK, or "PLACE: Arrow's first line"; out of memory is kResourceExhausted, everything else
/// kDataLoss for I/O and format errors, kInvalidArgument for values.
Status fromArrow(const arrow::Status& status, std::string_view place);

template <class T>
Result<T> fromArrow(arrow::Result<T> result, std::string_view place) {
    if (result.ok()) {
        return std::move(result).ValueUnsafe();
    }
    return fromArrow(result.status(), place);
}

/// The spec's type of an Arrow type; false when there is none (struct, map, list of lists, ...).
bool toSpecType(const arrow::DataType& type, expr::DataType& out);

/// The pinned Arrow type; decimals need their own (null here).
std::shared_ptr<arrow::DataType> toArrowType(const expr::DataType& type);

/// One array of the pinned type: chunks joined, dictionaries expanded, large lists and strings,
/// zones and units brought to the pinned form. `place` names the column for messages.
Result<std::shared_ptr<arrow::Array>> pinArray(const arrow::ChunkedArray& values,
                                               const expr::DataType& type, std::string_view place,
                                               arrow::MemoryPool* pool);

/// `rows` nulls of the pinned type.
Result<std::shared_ptr<arrow::Array>> nullArray(const expr::DataType& type, std::int64_t rows,
                                                arrow::MemoryPool* pool);

}  // namespace millrace::arrays
