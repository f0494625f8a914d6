#pragma once
// Measures the size and read time of some rows when they are written with given options. Private to
// profile.
//
// Writes the rows as one Parquet file into a directory of the caller's and reads it with the
// loader's own reader: bytes and processor time, the minimum of a few reads.
// Threads: one owner. Failure: the writer's and reader's errors.
#include <memory>
#include <string>

#include "backend/core/status.h"
#include "backend/table/table_writer.h"

namespace millrace::profile {

struct Measured {
    std::int64_t bytes = 0;
    double seconds = 0;  ///< of one core, to read all columns once
};

/// `rowGroupRows`: 0: a single row group.
Result<Measured> measureWritten(const arrow::RecordBatch& rows, const table::WriterOptions& options,
                                std::int64_t rowGroupRows, const std::string& directory);

}  // namespace millrace::profile
