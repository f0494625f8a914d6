#pragma once
// Converts Arrow's errors and types to ours, and back: each spec type has a pinned Arrow type.
//
// Pinned: bool, int8..uint64, float, double, decimal128, utf8, date32, timestamp[us] without zone,
// and lists of these. SplitReader converts everything it reads to its pinned type:
// - half floats to floats, times of day to int64 microseconds
// - binaries of any kind to texts with the same bytes
// - decimals of more than 38 digits, and decimals in lists, to doubles
// - dictionaries and runs to their values, extension types to their storage
#include <memory>
#include <string_view>
#include <utility>

#include <arrow/result.h>
#include <arrow/status.h>
#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/expr/schema.h"

namespace millrace::arrays {

/// OK, or "PLACE: Arrow's first line". Out of memory is kResourceExhausted, I/O and format errors
/// are kDataLoss, errors of values are kInvalidArgument.
Status fromArrow(const arrow::Status& status, std::string_view place);

template <class T>
Result<T> fromArrow(arrow::Result<T> result, std::string_view place) {
    if (result.ok()) {
        return std::move(result).ValueUnsafe();
    }
    return fromArrow(result.status(), place);
}

/// The spec type for an Arrow type; false if there is none (struct, map, list of lists, ...).
bool toSpecType(const arrow::DataType& type, expr::DataType& out);

/// The pinned Arrow type; null for decimals, which keep their own.
std::shared_ptr<arrow::DataType> toArrowType(const expr::DataType& type);

/// One array of the pinned type: joins chunks, expands dictionaries, and converts large lists and
/// strings, zones and units. `place` names the column for messages.
Result<std::shared_ptr<arrow::Array>> pinArray(const arrow::ChunkedArray& values,
                                               const expr::DataType& type, std::string_view place,
                                               arrow::MemoryPool* pool);

/// `rows` nulls of the pinned type.
Result<std::shared_ptr<arrow::Array>> nullArray(const expr::DataType& type, std::int64_t rows,
                                                arrow::MemoryPool* pool);

}  // namespace millrace::arrays
