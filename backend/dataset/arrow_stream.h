#pragma once
// Arrow IPC in its stream form: messages one after another, no footer. Private to the room.
//
// A first pass finds where each record batch lies, so that batches are read in any order.
// Failure: as of footers.h; a stream with dictionaries is refused, as their batches cannot be read
// apart.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/dataset/decoders.h"
#include "backend/files/file_facts.h"
#include "backend/files/file_source.h"

namespace arrow {
class RecordBatch;
}  // namespace arrow

namespace millrace::dataset {

/// Whether the file is a stream rather than an Arrow IPC file.
Result<bool> isArrowStream(const files::DataFile& file, const files::FileSource& source);

Result<files::FileFacts> readArrowStreamFacts(const files::DataFile& file,
                                              const files::FileSource& source);

/// Rows of a record batch, and where it stands, for messages.
struct BatchRows {
    const arrow::RecordBatch& batch;
    const std::string& place;
    std::int64_t firstRow = 0, rows = 0;
};

/// These columns of the rows, checked, of the dataset's pinned types. kFailedPrecondition for rows
/// that the batch does not have.
Result<std::vector<std::shared_ptr<arrow::Array>>> pinColumns(
    const DecoderInput& input, const BatchRows& from, const std::vector<std::string>& columns);

Result<DecoderPtr> openArrowStream(const DecoderInput& input);

}  // namespace millrace::dataset
