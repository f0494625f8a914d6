#pragma once
// What is known of a split's columns without reading it: for SplitPruner. Private to the room.
//
// Threads: one at a time. Failure: none; what cannot be read is unknown.
#include <memory>
#include <optional>
#include <string>

#include "backend/dataset/file_source.h"
#include "backend/dataset/partitions.h"
#include "backend/dataset/split_pruner.h"

namespace parquet {
class FileMetaData;
}

namespace millrace::dataset {

/// A partition column is one value in all rows of its file.
ColumnFactsOfSplit partitionFacts(const PartitionColumn& column, std::size_t file);

/// Statistics and bloom filters of one row group.
class ParquetSplitFacts {
 public:
    /// Everything is borrowed. `schema`: the dataset's, whose types the bounds are brought to.
    ParquetSplitFacts(std::shared_ptr<parquet::FileMetaData> footer, const FileSource& source,
                      int rowGroup, const spec::Schema& schema)
        : footer_(std::move(footer)), source_(source), rowGroup_(rowGroup), schema_(schema) {}

    std::optional<ColumnFactsOfSplit> of(const std::string& column) const;

 private:
    bool mayHold(int leaf, const Bound& value) const;

    const std::shared_ptr<parquet::FileMetaData> footer_;
    const FileSource& source_;
    const int rowGroup_;
    const spec::Schema& schema_;
};

}  // namespace millrace::dataset
