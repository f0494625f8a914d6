#pragma once
// Columns from directory names: `day=2024-01-01/part.parquet` has a column `day`.
//
// Every component KEY=VALUE of a file's path counts, except the file name, percent-decoded;
// __HIVE_DEFAULT_PARTITION__ and an empty value are null. A column's type is the first of int64,
// date and string that fits its values in all files. It depends only on the list of files, which
// the plan pins. Columns of the files themselves take precedence.
// Threads: values. Failure: a file lacks the directory that another one has; the message names
// both.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/files/file_list.h"

namespace millrace::dataset {

struct PartitionColumn {
    std::string name;
    expr::DataType type;
    std::vector<std::optional<std::string>> values;  ///< by file; absent: null

    /// The value for one file, repeated `rows` times, in the pinned type.
    Result<std::shared_ptr<arrow::Array>> array(std::size_t file, std::int64_t rows,
                                                arrow::MemoryPool* pool) const;
};

/// Returns them in order of first appearance. `isMissingNull`: a file without the directory gets
/// null instead of an error.
Result<std::vector<PartitionColumn>> partitionColumns(const std::vector<files::DataFile>& files,
                                                      bool isMissingNull);

}  // namespace millrace::dataset
