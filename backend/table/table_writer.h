#pragma once
// Writes record batches as files of one format: Parquet, Arrow IPC or CSV.
//
// A table's rows become row groups, whose parts any thread encodes in any order (TableEncoder), and
// these files, which take them in theirs (TableFile); TableWriter is both for one file. Parquet is
// written the way the loader reads fastest: zstd level 1, data pages V1, no dictionary for floats
// nor for a column of which more than half of the table's first row group's values are different
// ones, such integers with zstd as packed differences (DELTA_BINARY_PACKED) where these are no
// larger than what zstd makes of them, such texts behind their lengths (DELTA_LENGTH_BYTE_ARRAY)
// where zstd makes them no larger, page index. CSV has a header; lists are texts joined by '|',
// which split(column, '|') reads back. Threads: TableEncoder::encode() from any after prepare(),
// the rest one owner. The bytes of a file do not depend on them. Owns: the open file. Failure:
// kResourceExhausted "PATH: no space left on device ..." for a full disk, else the library's
// sentence with the path.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/core/status.h"
#include "backend/table/external_sort.h"

namespace arrow {
class Schema;
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
    int threads = 1;
};

struct EncodedChunk;

/// Of one column (Parquet) or of all (other formats).
struct EncodedPart {
    BatchPtr batch;                                           ///< of other formats than Parquet
    std::shared_ptr<const std::vector<EncodedChunk>> chunks;  ///< of Parquet, one a leaf
};

/// Rows that become one row group (Parquet), one record batch (Arrow IPC), rows (CSV).
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
    /// Before all else: what the first rows decide for the table.
    virtual Status prepare(const std::vector<BatchPtr>& first) = 0;
    /// Of every group.
    virtual std::size_t numParts() const = 0;
    virtual Result<EncodedPart> encode(const std::vector<BatchPtr>& batches,
                                       std::size_t part) const = 0;
    /// The encoder outlives the file.
    virtual Result<std::unique_ptr<TableFile>> open(const std::string& path) const = 0;
};

/// All parts of a group, by so many threads, the caller's among them.
Result<EncodedGroup> encodeGroup(const TableEncoder& encoder, const std::vector<BatchPtr>& batches,
                                 int threads);
std::int64_t rowsOf(const std::vector<BatchPtr>& batches);

class TableWriter {
 public:
    static Result<std::unique_ptr<TableWriter>> open(const std::string& path,
                                                     const std::shared_ptr<arrow::Schema>& schema,
                                                     const WriterOptions& options);
    Status write(const arrow::RecordBatch& batch);  ///< as one group
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

/// A status of Arrow's about `path`; a full disk is kResourceExhausted.
Status writeStatus(const arrow::Status& status, const std::string& path);

}  // namespace millrace::table
