#pragma once
// Arrow IPC in its stream form: consecutive messages without a footer. Private to dataset.
//
// A first pass finds the offset of each record batch, so that batches can be read in any order.
// Failure: as in footers.h; a stream with dictionaries is rejected, as dictionary batches cannot be
// read separately.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/dataset/decoders.h"
#include "backend/files/file_metadata.h"
#include "backend/files/file_source.h"

namespace millrace::dataset {

/// Whether the file is a stream instead of an Arrow IPC file.
Result<bool> isArrowStream(const files::DataFile& file, const files::FileSource& source);

Result<files::FileMetadata> readArrowStreamFacts(const files::DataFile& file,
                                                 const files::FileSource& source);

/// Rows of a record batch, with a description of the batch for messages.
struct BatchRows {
    const arrow::RecordBatch& batch;
    const std::string& place;
    std::int64_t firstRow = 0, rows = 0;
};

/// Returns these columns of the rows, validated, in the dataset's pinned types. kFailedPrecondition
/// for rows that the batch does not have.
Result<std::vector<std::shared_ptr<arrow::Array>>> pinColumns(
    const DecoderInput& input, const BatchRows& from, const std::vector<std::string>& columns);

Result<DecoderPtr> openArrowStream(const DecoderInput& input);

}  // namespace millrace::dataset
