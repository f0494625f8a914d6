#pragma once
// Reads columns of a split: the one place that decodes data files.
//
// One reader a thread: it keeps its file open between splits. Columns may be asked for in several
// calls (a filter's first, the others for splits that survive); each call reads only its columns'
// chunks. No Arrow thread pool is used.
// Threads: one at a time. Failure: kFailedPrecondition for a file that no longer fits the plan,
// kDataLoss "PATH: row group N, column c: ..." for bytes that cannot be decoded.
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/row_wish.h"

namespace arrow {
class Array;
class MemoryPool;
}  // namespace arrow

namespace millrace::dataset {

/// The rows of one file that a split holds: stream::PlanSplit by value, with its file.
struct SplitRange {
    std::uint32_t file = 0;     ///< index in Dataset::files()
    std::int64_t chunk = 0;     ///< row group, or number of the CSV stretch
    std::int64_t firstRow = 0;  ///< row number in the file
    std::int64_t rows = 0;
};

class SplitReader {
 public:
    /// `pool`: null for Arrow's default pool.
    explicit SplitReader(std::shared_ptr<const Dataset> dataset, arrow::MemoryPool* pool = nullptr);
    ~SplitReader();
    SplitReader(const SplitReader&) = delete;
    SplitReader& operator=(const SplitReader&) = delete;

    /// One contiguous array of `split.rows` values per name, in the order of `columns`, of the
    /// dataset's pinned types (dictionaries expanded). A column that this file lacks is all null.
    Result<std::vector<std::shared_ptr<arrow::Array>>> readColumns(
        const SplitRange& split, const std::vector<std::string>& columns);

    /// The wished rows alone; lists may come with repeats stored once (RowWish::mayRepeat). Floats
    /// are 0 where they are null.
    Result<std::vector<std::shared_ptr<arrow::Array>>> readRows(
        const SplitRange& split, const std::vector<std::string>& columns, const RowWish& wish);

    /// Bytes read from files so far.
    std::int64_t bytesRead() const { return bytesRead_; }

    /// A decoder of one format (Parquet, CSV, Arrow), open on one file.
    class FileDecoder {
     public:
        virtual ~FileDecoder() = default;
        virtual Result<std::vector<std::shared_ptr<arrow::Array>>> readColumns(
            const SplitRange& split, const std::vector<std::string>& columns) = 0;
        /// All rows are read and the wished ones taken, where a format knows no better.
        virtual Result<std::vector<std::shared_ptr<arrow::Array>>> readRows(
            const SplitRange& split, const std::vector<std::string>& columns, const RowWish& wish,
            arrow::MemoryPool* pool);
        virtual std::int64_t bytesRead() const = 0;
    };

 private:
    Status openFile(std::uint32_t file);

    const std::shared_ptr<const Dataset> dataset_;
    arrow::MemoryPool* const pool_;
    std::unique_ptr<FileDecoder> decoder_;
    std::uint32_t openFile_ = 0;
    std::int64_t bytesRead_ = 0;
};

}  // namespace millrace::dataset
