#pragma once
// Writes record batches as files of one format: Parquet, Arrow IPC or CSV.
//
// A table's rows become row groups. Any thread encodes their parts in any order (TableEncoder);
// files take the groups in order (TableFile). TableWriter does both for one file. Parquet is
// written in the form that the loader reads fastest:
// - zstd level 1, data pages V1, page index
// - no dictionary for floats, nor for a column with more than half distinct values in the table's
//   first row group
// - with zstd, such integers as packed differences (DELTA_BINARY_PACKED) if these take at most the
//   bytes of the plain ones compressed
// - with zstd, such texts after their lengths (DELTA_LENGTH_BYTE_ARRAY) if that compresses no worse
//
// CSV has a header; lists are texts joined by '|', which split(column, '|') reads back.
// Threads: TableEncoder::encode() from any after prepare(), the rest one owner. The bytes of a file
// do not depend on them. Owns: the open file. Failure: kResourceExhausted "PATH: no space left on
// device ..." for a full disk, else the library's message with the path.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/table/external_sort.h"

namespace millrace::table {

enum class TableFormat { kParquet, kArrow, kCsv };

/// "parquet", "arrow", "csv".
Result<TableFormat> parseTableFormat(const std::string& name);
std::string_view endingOf(TableFormat format);  ///< ".parquet"

struct WriterOptions {
    TableFormat format = TableFormat::kParquet;
    std::string codec = "zstd";  ///< Parquet: zstd, lz4, snappy or none
    /// Uses dictionaries for floats too, as most writers do: for measurements.
    bool hasFloatDictionary = false;
    int threads = 1;
};

struct EncodedChunk;

/// The part of one column (Parquet) or of all columns (other formats).
struct EncodedPart {
    BatchPtr batch;                                           ///< other formats than Parquet
    std::shared_ptr<const std::vector<EncodedChunk>> chunks;  ///< Parquet, one per leaf
};

/// Rows that form one row group (Parquet), one record batch (Arrow IPC), or rows (CSV).
struct EncodedGroup {
    std::int64_t rows = 0;
    std::vector<EncodedPart> parts;
};

class TableFile {
 public:
    virtual ~TableFile() = default;
    virtual Status append(const EncodedGroup& group) = 0;
    virtual Status close() = 0;
    virtual Result<std::int64_t> bytesWritten() const = 0;
};

class TableEncoder {
 public:
    virtual ~TableEncoder() = default;
    static Result<std::unique_ptr<TableEncoder>> make(std::shared_ptr<arrow::Schema> schema,
                                                      const WriterOptions& options);
    /// Call it before all else: decides from the first rows how the table is encoded.
    virtual Status prepare(const std::vector<BatchPtr>& first) = 0;
    /// Number of parts in every group.
    virtual std::size_t numParts() const = 0;
    virtual Result<EncodedPart> encode(const std::vector<BatchPtr>& batches,
                                       std::size_t part) const = 0;
    /// The encoder outlives the file.
    virtual Result<std::unique_ptr<TableFile>> open(const std::string& path) const = 0;
};

/// Encodes all parts of a group in `threads` threads, including the caller's.
Result<EncodedGroup> encodeGroup(const TableEncoder& encoder, const std::vector<BatchPtr>& batches,
                                 int threads);
std::int64_t rowsOf(const std::vector<BatchPtr>& batches);

class TableWriter {
 public:
    static Result<std::unique_ptr<TableWriter>> open(const std::string& path,
                                                     const std::shared_ptr<arrow::Schema>& schema,
                                                     const WriterOptions& options);
    Status write(const arrow::RecordBatch& batch);  ///< writes one group
    Status close();

 private:
    TableWriter(std::string path, int threads, std::unique_ptr<TableEncoder> encoder)
        : path_(std::move(path)), threads_(threads), encoder_(std::move(encoder)) {}
    Status begin(const std::vector<BatchPtr>& first);
    const std::string path_;
    const int threads_;
    const std::unique_ptr<TableEncoder> encoder_;
    std::unique_ptr<TableFile> file_;
};

/// Converts an Arrow status about `path`; a full disk becomes kResourceExhausted.
Status writeStatus(const arrow::Status& status, const std::string& path);

}  // namespace millrace::table
