#pragma once
// An integer of an array in its own width and sign. Threads: pure.
#include <cstdint>

#include <arrow/array/array_primitive.h>
#include <arrow/type.h>

namespace millrace::arrays {

/// Calls `take` with the value at `row`: of dates the day, of timestamps the count in the column's
/// unit. False, without a call, for arrays of other types; nulls are the caller's.
template <class Take>
bool takeIntegerAt(const arrow::Array& array, std::int64_t row, Take take) {
    using arrow::Type;
    switch (array.type_id()) {
        case Type::INT8:
            take(static_cast<const arrow::Int8Array&>(array).Value(row));
            return true;
        case Type::INT16:
            take(static_cast<const arrow::Int16Array&>(array).Value(row));
            return true;
        case Type::INT32:
            take(static_cast<const arrow::Int32Array&>(array).Value(row));
            return true;
        case Type::INT64:
            take(static_cast<const arrow::Int64Array&>(array).Value(row));
            return true;
        case Type::UINT8:
            take(static_cast<const arrow::UInt8Array&>(array).Value(row));
            return true;
        case Type::UINT16:
            take(static_cast<const arrow::UInt16Array&>(array).Value(row));
            return true;
        case Type::UINT32:
            take(static_cast<const arrow::UInt32Array&>(array).Value(row));
            return true;
        case Type::UINT64:
            take(static_cast<const arrow::UInt64Array&>(array).Value(row));
            return true;
        case Type::DATE32:
            take(static_cast<const arrow::Date32Array&>(array).Value(row));
            return true;
        case Type::TIMESTAMP:
            take(static_cast<const arrow::TimestampArray&>(array).Value(row));
            return true;
        default:
            return false;
    }
}

}  // namespace millrace::arrays
