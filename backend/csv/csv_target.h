#pragma once
// Builds columns from CSV fields: parses one column of many records at once, directly into the
// array's memory.
//
// csv_fast.h parses the common forms, csv_values.h all others, with the same result.
// Memory: the pool's, allocated once for all rows; texts grow. Threads: one.
// Failure: kResourceExhausted.
#include <cstdint>
#include <memory>
#include <string>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/csv/csv_records.h"
#include "backend/csv/csv_values.h"
#include "backend/expr/schema.h"

namespace millrace::csv {

/// Bytes that must be readable after a text whose values are parsed.
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
        std::int64_t textBytes = 0;  ///< estimate of the texts' bytes
        arrow::MemoryPool* pool = nullptr;
        std::string path;  ///< for messages
    };
    /// Null for a type that CSV columns cannot have.
    static Result<std::unique_ptr<CsvTarget>> make(const expr::DataType& type,
                                                   const Options& options);
    virtual ~CsvTarget() = default;

    /// Takes the next values, at most `rows` in total. Returns how many: fewer if one does not fit
    /// the type.
    virtual Result<std::size_t> append(const CsvFields& fields) = 0;
    /// Call it once, after all rows.
    virtual Result<std::shared_ptr<arrow::Array>> finish() = 0;
};

}  // namespace millrace::csv
