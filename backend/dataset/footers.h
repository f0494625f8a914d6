#pragma once
// Facts of self-describing files, Parquet and Arrow IPC, from their footers.
//
// Failure: kDataLoss "PATH: ..." with what is wrong: too short, no magic (truncated), footer longer
// than the file, unreadable footer, column chunk outside the file.
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>
#include <parquet/type_fwd.h>

#include "backend/files/file_metadata.h"
#include "backend/files/file_source.h"

namespace millrace::dataset {

/// Number of threads that read the footers of objects: they wait for latency, not for a core.
inline constexpr int kRemoteThreads = 32;

/// Adds each column's bytes in a record batch, by index in `columns`; validates the batch's layout.
/// `place`: of the batch, for messages.
Status addDecodedBytes(const arrow::RecordBatch& batch, const std::string& place,
                       const std::map<std::string, std::size_t>& columns,
                       std::vector<std::int64_t>& decodedBytes);

/// kFailedPrecondition if an Arrow IPC file's footer has another hash.
Status verifyArrowFooter(const files::DataFile& file, const files::FileSource& source,
                         const std::string& contentHash);

/// A Parquet file's columns as Arrow types. If the file's Arrow schema has types that Arrow does
/// not know (Polars' integers of 128 bits), the columns have their Parquet types. `refused` names
/// those whose meaning is unknown then, and why.
Result<std::shared_ptr<arrow::Schema>> arrowSchemaOf(const parquet::FileMetaData& footer,
                                                     const std::string& path,
                                                     std::map<std::string, std::string>& refused);

Result<files::FileMetadata> readParquetFacts(const files::DataFile& file);
Result<files::FileMetadata> readArrowFacts(const files::DataFile& file);

}  // namespace millrace::dataset
