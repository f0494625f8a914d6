#pragma once
// Reads columns of a split: the only place that decodes data files.
//
// Use one reader per thread: it keeps its file open between splits. Columns may be requested in
// several calls (a filter's first, the others for splits that survive); each call reads only its
// columns' chunks. No Arrow thread pool is used.
// Threads: one at a time. Failure: kFailedPrecondition for a file that no longer matches the plan,
// kDataLoss "PATH: row group N, column c: ..." for bytes that cannot be decoded.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/dataset/column_cost.h"
#include "backend/dataset/dataset.h"
#include "backend/files/file_source.h"
#include "backend/pages/parquet_footers.h"
#include "backend/pages/row_selection.h"

namespace millrace::pages {
class PageDecoder;
}  // namespace millrace::pages

namespace millrace::dataset {

class FileDecoder;
class ReadAhead;
class SplitPruner;

/// The rows of a split in one file: stream::PlanSplit with its file's index.
struct SplitRange {
    std::uint32_t file = 0;     ///< index in Dataset::files()
    std::int64_t chunk = 0;     ///< row group, or number of the CSV stretch
    std::int64_t firstRow = 0;  ///< row number in the file
    std::int64_t rows = 0;
};

class SplitReader {
 public:
    using Types = std::unordered_map<std::string_view, const expr::DataType*>;  ///< by name

    /// kHelper: reads columns of splits that belong to another reader, which releases what was
    /// fetched for them.
    enum class Role { kOwner, kHelper };

    /// `pool`: null for Arrow's default pool. `readAhead`: fetches objects; null: the reader makes
    /// its own if the dataset has objects.
    explicit SplitReader(std::shared_ptr<const Dataset> dataset, arrow::MemoryPool* pool = nullptr,
                         std::shared_ptr<ReadAhead> readAhead = nullptr, Role role = Role::kOwner);
    ~SplitReader();
    SplitReader(const SplitReader&) = delete;
    SplitReader& operator=(const SplitReader&) = delete;

    /// Returns one contiguous array of `split.rows` values per name, in the order of `columns`, in
    /// the dataset's pinned types (dictionaries expanded). A column that this file lacks is all
    /// null.
    Result<std::vector<std::shared_ptr<arrow::Array>>> readColumns(
        const SplitRange& split, const std::vector<std::string>& columns);

    /// Returns only the wanted rows; lists may come with repeats stored once
    /// (RowSelection::mayRepeat). Null floats are 0.
    Result<std::vector<std::shared_ptr<arrow::Array>>> readRows(
        const SplitRange& split, const std::vector<std::string>& columns,
        const pages::RowSelection& selection);

    /// Whether directory names, statistics and bloom filters show that no row of the split passes
    /// the filters. Reads at most the file's footer and the bloom filters it needs.
    Result<bool> provesEmpty(const SplitRange& split, const SplitPruner& pruner);

    /// Rows of the split (ascending offsets from its first) that the pages' statistics do not rule
    /// out; absent if none is ruled out. Call it if provesEmpty() returned false.
    Result<std::optional<std::vector<std::int64_t>>> rowsNotRuledOut(const SplitRange& split,
                                                                     const SplitPruner& pruner);

    /// Announces what will be read next, in this order: objects of a store are fetched ahead.
    void announce(const std::vector<SplitRange>& splits, const std::vector<std::string>& columns);
    /// Drops an announced split that will not be read.
    void skip(const SplitRange& split);

    /// True: keeps working memory between calls, for columns that are requested one by one. False:
    /// releases it now and after each call.
    void keepMemory(bool keeps);

    /// Whether a column costs the same alone as together with others.
    bool readsByColumn() const { return dataset_->options().format == "parquet"; }

    /// Bytes read from files so far.
    std::int64_t bytesRead() const { return bytesRead_; }
    /// Costs of the columns read since the last call, in the order in which they were read.
    std::vector<ColumnCost> takeCosts() { return std::exchange(costs_, {}); }

 private:
    /// Opens the file for these columns, and maybe others.
    Status openFile(std::uint32_t file, const std::vector<std::string>& columns);
    void leaveSplit();
    Result<std::vector<std::shared_ptr<arrow::Array>>> readAny(
        const SplitRange& split, const std::vector<std::string>& columns,
        const pages::RowSelection* selection);
    Result<std::vector<std::shared_ptr<arrow::Array>>> readStored(
        const SplitRange& split, const std::vector<std::string>& columns,
        const pages::RowSelection* selection);

    const std::shared_ptr<const Dataset> dataset_;
    Types types_;
    arrow::MemoryPool* const pool_;
    const std::shared_ptr<ReadAhead> readAhead_;
    const Role role_;
    std::optional<files::FileSource> source_;
    std::unique_ptr<pages::PageDecoder> pages_;  ///< reused for all Parquet files
    std::unique_ptr<FileDecoder> decoder_;
    pages::ParquetFooter footer_;  ///< Parquet: the open file's
    SplitRange split_;             ///< the last one; without rows: none
    std::uint32_t openFile_ = 0;
    bool keepsMemory_ = false;
    std::int64_t bytesRead_ = 0;
    std::vector<ColumnCost> costs_;
};

}  // namespace millrace::dataset
