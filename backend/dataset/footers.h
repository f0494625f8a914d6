#pragma once
// Facts of self-describing files: Parquet and Arrow IPC, from their footers.
//
// Failure: kDataLoss "PATH: ..." naming what is wrong: too short, no magic (truncated), footer
// longer than the file, footer that cannot be parsed, column chunk outside the file.
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/files/file_facts.h"
#include "backend/files/file_source.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow
namespace parquet {
class FileMetaData;
}

namespace millrace::dataset {

/// So many threads read the footers of objects: they wait for latency, not for a core.
inline constexpr int kRemoteThreads = 32;

/// By place in `columns`: what each of them takes in a record batch, whose layout is checked.
/// `place`: of the batch, for messages.
Status addDecodedBytes(const arrow::RecordBatch& batch, const std::string& place,
                       const std::map<std::string, std::size_t>& columns,
                       std::vector<std::int64_t>& decodedBytes);

/// kFailedPrecondition when the footer of an Arrow IPC file is not of this hash.
Status verifyArrowFooter(const files::DataFile& file, const files::FileSource& source,
                         const std::string& contentHash);

/// A Parquet file's columns as Arrow has them. Where a file says of Arrow's own types what Arrow
/// does not know (Polars' integers of 128 bits), they are as Parquet stores them, and `refused`
/// names those that this tells nothing of, and why.
Result<std::shared_ptr<arrow::Schema>> arrowSchemaOf(const parquet::FileMetaData& footer,
                                                     const std::string& path,
                                                     std::map<std::string, std::string>& refused);

Result<files::FileFacts> readParquetFacts(const files::DataFile& file);
Result<files::FileFacts> readArrowFacts(const files::DataFile& file);

}  // namespace millrace::dataset
