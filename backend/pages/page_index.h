#pragma once
// The page index of one Parquet file: position, rows and value bounds of a column chunk's data
// pages.
//
// The index is optional: if it is missing, unreadable or contradicts the footer, it counts as
// absent. Format: https://parquet.apache.org/docs/file-format/pageindex/
// Threads: one at a time. Failure: none.
#include <cstdint>
#include <memory>
#include <vector>

#include <arrow/io/type_fwd.h>
#include <arrow/type_fwd.h>

#include "backend/pages/parquet_statistics.h"

namespace parquet {
class FileMetaData;
class PageIndexReader;
class ReaderProperties;
class RowGroupPageIndexReader;
}  // namespace parquet

namespace millrace::pages {

/// A data page of a column chunk.
struct PagePlace {
    std::int64_t offset = 0;          ///< offset of its header in the file
    std::int64_t bytes = 0;           ///< in the file, with its header
    std::int64_t begin = 0, end = 0;  ///< its rows in the row group; it begins with a whole row
};

class PageIndex {
 public:
    PageIndex(std::shared_ptr<parquet::FileMetaData> footer,
              std::shared_ptr<arrow::io::RandomAccessFile> file);
    ~PageIndex();
    PageIndex(const PageIndex&) = delete;
    PageIndex& operator=(const PageIndex&) = delete;

    /// All pages of a column chunk, in the order of their rows; empty if unknown.
    std::vector<PagePlace> places(int rowGroup, int leaf);

    /// Statistics of each of these pages of a plain column; empty if unknown.
    std::vector<ColumnStatistics> statistics(int rowGroup, int leaf,
                                             const std::vector<PagePlace>& places);

 private:
    parquet::RowGroupPageIndexReader* readerOf(int rowGroup);

    const std::shared_ptr<parquet::FileMetaData> footer_;
    const std::shared_ptr<arrow::io::RandomAccessFile> file_;
    const std::unique_ptr<const parquet::ReaderProperties> properties_;  ///< borrowed by reader_
    std::shared_ptr<parquet::PageIndexReader> reader_;
    std::shared_ptr<parquet::RowGroupPageIndexReader> group_;
    int groupOf_ = -1;
};

}  // namespace millrace::pages
