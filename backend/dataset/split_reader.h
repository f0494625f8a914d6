#pragma once
// Reads columns of a split: the one place that decodes data files.
//
// One reader a thread: it keeps its file open between splits. Columns may be asked for in several
// calls (a filter's first, the others for splits that survive); each call reads only its columns'
// chunks. No Arrow thread pool is used.
// Threads: one at a time. Failure: kFailedPrecondition for a file that no longer fits the plan,
// kDataLoss "PATH: row group N, column c: ..." for bytes that cannot be decoded.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/column_cost.h"
#include "backend/dataset/dataset.h"
#include "backend/files/file_source.h"
#include "backend/pages/parquet_footers.h"
#include "backend/pages/row_wish.h"

namespace arrow {
class Array;
class MemoryPool;
}  // namespace arrow

namespace millrace::pages {
class PageDecoder;
}  // namespace millrace::pages

namespace millrace::dataset {

class FileDecoder;
class ReadAhead;
class SplitPruner;

/// The rows of one file that a split holds: stream::PlanSplit by value, with its file.
struct SplitRange {
    std::uint32_t file = 0;     ///< index in Dataset::files()
    std::int64_t chunk = 0;     ///< row group, or number of the CSV stretch
    std::int64_t firstRow = 0;  ///< row number in the file
    std::int64_t rows = 0;
};

class SplitReader {
 public:
    using Types = std::unordered_map<std::string_view, const expr::DataType*>;  ///< by name

    /// kHelper: reads columns of splits that another reader has; what was fetched of them is left
    /// to that one to give back.
    enum class Role { kOwner, kHelper };

    /// `pool`: null for Arrow's default pool.
    /// `readAhead`: fetches objects; null: one of its own when the dataset has objects.
    explicit SplitReader(std::shared_ptr<const Dataset> dataset, arrow::MemoryPool* pool = nullptr,
                         std::shared_ptr<ReadAhead> readAhead = nullptr, Role role = Role::kOwner);
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
        const SplitRange& split, const std::vector<std::string>& columns,
        const pages::RowWish& wish);

    /// Whether directory names, statistics and bloom filters show that no row of the split passes
    /// the filters. Reads the file's footer at most, and bloom filters that are asked for.
    Result<bool> provesEmpty(const SplitRange& split, const SplitPruner& pruner);

    /// Rows of the split (offsets from its first, ascending) that the statistics of pages do not
    /// rule out; absent: they rule out none. To be asked where provesEmpty() says no.
    Result<std::optional<std::vector<std::int64_t>>> rowsNotRuledOut(const SplitRange& split,
                                                                     const SplitPruner& pruner);

    /// What will be read after this, in this order: objects of a store are fetched ahead.
    void announce(const std::vector<SplitRange>& splits, const std::vector<std::string>& columns);
    /// An announced split that will not be read.
    void skip(const SplitRange& split);

    /// True: working memory is kept from one call to the next, for columns that are asked for one
    /// by one. False: it is given back now, and after each call.
    void keepMemory(bool keeps);

    /// A column costs the same whether it is asked for alone or with others.
    bool readsByColumn() const;

    /// Bytes read from files so far.
    std::int64_t bytesRead() const { return bytesRead_; }
    /// What the columns read since the last call took, in the order in which they were read.
    std::vector<ColumnCost> takeCosts();

 private:
    /// For these columns, and maybe others.
    Status openFile(std::uint32_t file, const std::vector<std::string>& columns);
    void leaveSplit();
    Result<std::vector<std::shared_ptr<arrow::Array>>> readAny(
        const SplitRange& split, const std::vector<std::string>& columns,
        const pages::RowWish* wish);
    Result<std::vector<std::shared_ptr<arrow::Array>>> readStored(
        const SplitRange& split, const std::vector<std::string>& columns,
        const pages::RowWish* wish);

    const std::shared_ptr<const Dataset> dataset_;
    Types types_;
    arrow::MemoryPool* const pool_;
    const std::shared_ptr<ReadAhead> readAhead_;
    const Role role_;
    std::optional<files::FileSource> source_;
    std::unique_ptr<pages::PageDecoder> pages_;  ///< of all Parquet files that are read
    std::unique_ptr<FileDecoder> decoder_;
    pages::ParquetFooter footer_;  ///< Parquet: the open file's
    SplitRange split_;             ///< the last one; its rows 0: none
    std::uint32_t openFile_ = 0;
    bool keepsMemory_ = false;
    std::int64_t bytesRead_ = 0;
    std::vector<ColumnCost> costs_;
};

}  // namespace millrace::dataset
