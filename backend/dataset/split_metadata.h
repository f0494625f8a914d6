#pragma once
// Facts about a split's columns that need no row to be read, for SplitPruner. Private to dataset.
//
// Threads: one at a time. Failure: none; what cannot be read is unknown.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <parquet/type_fwd.h>

#include "backend/dataset/plan/partitions.h"
#include "backend/dataset/plan/split_pruner.h"
#include "backend/files/file_source.h"
#include "backend/pages/page_index.h"

namespace millrace::dataset {

/// A partition column has one value in all rows of its file.
ColumnFactsOfSplit partitionFacts(const PartitionColumn& column, std::size_t file);

/// Statistics and bloom filters of one row group.
class ParquetSplitMetadata {
 public:
    /// All references are borrowed. `schema`: the dataset's; bounds are converted to its types.
    ParquetSplitMetadata(std::shared_ptr<parquet::FileMetaData> footer,
                         const files::FileSource& source, int rowGroup, const expr::Schema& schema)
        : footer_(std::move(footer)), source_(source), rowGroup_(rowGroup), schema_(schema) {}

    std::optional<ColumnFactsOfSplit> of(const std::string& column) const;

    /// Facts of the row group's pages, in row order; empty if nothing is known about pages.
    struct PageMetadata {
        std::int64_t begin = 0, end = 0;  ///< rows in the row group
        ColumnFactsOfSplit facts;
    };
    std::vector<PageMetadata> pagesOf(const std::string& column, pages::PageIndex& index) const;

 private:
    bool mayHold(int leaf, const Bound& value) const;

    const std::shared_ptr<parquet::FileMetaData> footer_;
    const files::FileSource& source_;
    const int rowGroup_;
    const expr::Schema& schema_;
};

/// Rows of [begin, begin + rows) of a row group, as ascending offsets from `begin`, that the pages'
/// facts do not rule out; absent if no row is ruled out. `of`: facts of columns without page facts.
std::optional<std::vector<std::int64_t>> rowsNotRuledOut(
    const std::map<std::string, std::vector<ParquetSplitMetadata::PageMetadata>>& pages,
    const ColumnLookup& of, const SplitPruner& pruner, std::int64_t begin, std::int64_t rows);

}  // namespace millrace::dataset
