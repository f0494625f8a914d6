#pragma once
// Arrow IPC in its stream form: messages one after another, no footer. Private to the room.
//
// A first pass finds where each record batch lies, so that batches are read in any order.
// Failure: as of footers.h; a stream with dictionaries is refused, as their batches cannot be read
// apart.
#include "backend/dataset/decoders.h"
#include "backend/dataset/file_facts.h"
#include "backend/dataset/file_source.h"

namespace millrace::dataset {

/// Whether the file is a stream rather than an Arrow IPC file.
Result<bool> isArrowStream(const DataFile& file, const FileSource& source);

Result<FileFacts> readArrowStreamFacts(const DataFile& file, const FileSource& source);

Result<DecoderPtr> openArrowStream(const DecoderInput& input);

}  // namespace millrace::dataset
