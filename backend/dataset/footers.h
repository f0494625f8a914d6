#pragma once
// Facts of self-describing files: Parquet and Arrow IPC, from their footers.
//
// Failure: kDataLoss "PATH: ..." naming what is wrong: too short, no magic (truncated), footer
// longer than the file, footer that cannot be parsed, column chunk outside the file.
#include <cstddef>
#include <map>
#include <string>

#include "backend/dataset/file_facts.h"

namespace arrow {
class Schema;
}

namespace millrace::dataset {

/// Adds a file's columns, those of types that cannot be read by name only; gives the places of the
/// others in facts.schema.
std::map<std::string, std::size_t> addColumns(const arrow::Schema& schema, FileFacts& facts);

Result<FileFacts> readParquetFacts(const DataFile& file);
Result<FileFacts> readArrowFacts(const DataFile& file);

}  // namespace millrace::dataset
