#pragma once
// Facts of self-describing files: Parquet and Arrow IPC, from their footers.
//
// Failure: kDataLoss "PATH: ..." naming what is wrong: too short, no magic (truncated), footer
// longer than the file, footer that cannot be parsed, column chunk outside the file.
#include "backend/dataset/file_facts.h"

namespace millrace::dataset {

Result<FileFacts> readParquetFacts(const DataFile& file);
Result<FileFacts> readArrowFacts(const DataFile& file);

}  // namespace millrace::dataset
