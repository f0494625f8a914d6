#pragma once
// How large some rows are and how long they take to read, written this way or that. Private to the
// room.
//
// The rows are written as one Parquet file into a directory of the caller's and read back with the
// loader's own reader: bytes and processor time, the least of a few readings.
// Threads: one owner. Failure: what the writer and the reader say.
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/table/table_writer.h"

namespace millrace::profile {

struct Measured {
    std::int64_t bytes = 0;
    double seconds = 0;  ///< of one core, to read all columns once
};

/// `rowGroupRows`: 0: all in one.
Result<Measured> measureWritten(const arrow::RecordBatch& rows, const table::WriterOptions& options,
                                std::int64_t rowGroupRows, const std::string& directory);

}  // namespace millrace::profile
