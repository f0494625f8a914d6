#pragma once
// Columns out of CSV fields: the values of one column of many records at once, straight into the
// memory that the array has.
//
// The usual writings are read by csv_fast.h, all others by csv_values.h, with the same result.
// Memory: the pool's, once for all rows; texts grow. Threads: one. Failure: kResourceExhausted.
#include <cstdint>
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/csv/csv_records.h"
#include "backend/csv/csv_values.h"
#include "backend/expr/schema.h"

namespace arrow {
class Array;
class MemoryPool;
}  // namespace arrow

namespace millrace::csv {

/// Bytes that can be read behind a text whose values are taken.
inline constexpr std::size_t kPaddingBytes = 64;

/// One column's fields of `rows` records: fields[0], fields[stride], ...
struct CsvFields {
    CsvText text;
    const CsvField* fields = nullptr;
    std::size_t stride = 0, rows = 0;
};

class CsvTarget {
 public:
    struct Options {
        const CsvNulls* nulls = nullptr;  ///< outlives the target
        bool hasDecimalComma = false;
        std::int64_t rows = 0;
        std::int64_t textBytes = 0;  ///< what texts will have, about
        arrow::MemoryPool* pool = nullptr;
        std::string path;  ///< for messages
    };
    /// Null for a type that no CSV column has.
    static Result<std::unique_ptr<CsvTarget>> make(const expr::DataType& type,
                                                   const Options& options);
    virtual ~CsvTarget() = default;

    /// Takes the next values, not more than `rows` together; how many: less where one is no value
    /// of the type.
    virtual Result<std::size_t> append(const CsvFields& fields) = 0;
    /// Once, when all rows are there.
    virtual Result<std::shared_ptr<arrow::Array>> finish() = 0;
};

}  // namespace millrace::csv
