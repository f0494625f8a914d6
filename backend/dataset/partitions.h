#pragma once
// Columns from directory names: `day=2024-01-01/part.parquet` has a column `day`.
//
// Every component KEY=VALUE of a file's path but its name counts, percent-decoded;
// __HIVE_DEFAULT_PARTITION__ and an empty value are null. A type is int64, date or string, the
// first of these that all values of all files have; it depends on the list of files alone, which
// the plan pins. A column that the files themselves have is theirs.
// Threads: values. Failure: a file without the directory that another one has, named both.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/files/file_list.h"

namespace arrow {
class Array;
class MemoryPool;
}  // namespace arrow

namespace millrace::dataset {

struct PartitionColumn {
    std::string name;
    expr::DataType type;
    std::vector<std::optional<std::string>> values;  ///< by file; absent: null

    /// The value of one file, `rows` times, of the pinned type.
    Result<std::shared_ptr<arrow::Array>> array(std::size_t file, std::int64_t rows,
                                                arrow::MemoryPool* pool) const;
};

/// In order of their first appearance. `isMissingNull`: a file without the directory has null.
Result<std::vector<PartitionColumn>> partitionColumns(const std::vector<files::DataFile>& files,
                                                      bool isMissingNull);

}  // namespace millrace::dataset
