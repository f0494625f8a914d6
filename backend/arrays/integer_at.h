#pragma once
// Reads integers of an array with their own width and sign. Threads: pure.
#include <cstdint>

#include <arrow/array/array_primitive.h>
#include <arrow/type.h>

namespace millrace::arrays {

/// Calls `visit` with the array as its own class, for integers, dates (days) and timestamps (in the
/// column's unit). Returns false, without a call, for arrays of other types.
template <class Visit>
bool visitIntegers(const arrow::Array& array, const Visit& visit) {
    using arrow::Type;
    switch (array.type_id()) {
        case Type::INT8:
            visit(static_cast<const arrow::Int8Array&>(array));
            return true;
        case Type::INT16:
            visit(static_cast<const arrow::Int16Array&>(array));
            return true;
        case Type::INT32:
            visit(static_cast<const arrow::Int32Array&>(array));
            return true;
        case Type::INT64:
            visit(static_cast<const arrow::Int64Array&>(array));
            return true;
        case Type::UINT8:
            visit(static_cast<const arrow::UInt8Array&>(array));
            return true;
        case Type::UINT16:
            visit(static_cast<const arrow::UInt16Array&>(array));
            return true;
        case Type::UINT32:
            visit(static_cast<const arrow::UInt32Array&>(array));
            return true;
        case Type::UINT64:
            visit(static_cast<const arrow::UInt64Array&>(array));
            return true;
        case Type::DATE32:
            visit(static_cast<const arrow::Date32Array&>(array));
            return true;
        case Type::TIMESTAMP:
            visit(static_cast<const arrow::TimestampArray&>(array));
            return true;
        default:
            return false;
    }
}

/// Calls `take` with the value at `row`; the caller handles nulls. Returns false for other types.
template <class Take>
bool takeIntegerAt(const arrow::Array& array, std::int64_t row, Take take) {
    return visitIntegers(array, [&](const auto& integers) { take(integers.Value(row)); });
}

}  // namespace millrace::arrays
