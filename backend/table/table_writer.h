#pragma once
// Writes record batches as files of one format: Parquet, Arrow IPC or CSV.
//
// Parquet is written the way the loader reads fastest: zstd level 1, data pages V1, no dictionary
// for floats nor for a column of which more than half of the first row group's values are different
// ones, page index. CSV has a header; lists are texts joined by '|', which split(column, '|') reads
// back. Threads: one owner; with `threads` above 1 it starts its own for columns (Parquet) and rows
// (CSV). The bytes of the file do not depend on them. Owns: the open file.
// Failure: kResourceExhausted "PATH: no space left on device ..." for a full disk, else the
// library's sentence with the path.
#include <cstdint>
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/table/external_sort.h"

namespace arrow {
class Status;
}  // namespace arrow

namespace millrace::table {

enum class TableFormat { kParquet, kArrow, kCsv };

/// "parquet", "arrow", "csv".
Result<TableFormat> parseTableFormat(const std::string& name);
std::string_view endingOf(TableFormat format);  ///< ".parquet"

struct WriterOptions {
    TableFormat format = TableFormat::kParquet;
    std::string codec = "zstd";  ///< Parquet: zstd, lz4, snappy or none
    /// Dictionaries for floats too, as most writers do: for measurements.
    bool hasFloatDictionary = false;
    int threads = 1;  ///< that encode what write() is given
};

class TableWriter {
 public:
    virtual ~TableWriter() = default;
    static Result<std::unique_ptr<TableWriter>> open(const std::string& path,
                                                     const std::shared_ptr<arrow::Schema>& schema,
                                                     const WriterOptions& options);
    /// One row group (Parquet), one record batch (Arrow IPC), rows (CSV).
    virtual Status write(const arrow::RecordBatch& batch) = 0;
    virtual Status close() = 0;
    /// In the file; of Parquet, the last row group comes later.
    virtual Result<std::int64_t> bytesWritten() const = 0;
};

/// A status of Arrow's about `path`; a full disk is kResourceExhausted.
Status writeStatus(const arrow::Status& status, const std::string& path);

}  // namespace millrace::table
