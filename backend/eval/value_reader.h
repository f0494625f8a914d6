#pragma once
// Reads single values of an array as canonical bytes or integers; keys and hashes use it.
// Threads: a value.
#include <cstdint>

#include <arrow/array/array_base.h>

#include "backend/core/philox.h"
#include "backend/core/status.h"

namespace millrace::eval {

class ValueReader {
 public:
    /// The array outlives the reader. Fails for lists.
    static Result<ValueReader> of(const arrow::Array& array);
    bool isNull(std::int64_t row) const { return array_->IsNull(row); }
    void append(std::int64_t row, CanonicalBytes& bytes) const;
    /// For integers, bools, dates (days) and timestamps (microseconds).
    std::int64_t integer(std::int64_t row) const;

 private:
    explicit ValueReader(const arrow::Array& array) : array_(&array) {}
    const arrow::Array* array_;
};

}  // namespace millrace::eval
