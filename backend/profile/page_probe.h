#pragma once
// Measures how long the pages of Parquet columns take to decompress, on one row group.
//
// Threads: one owner. Failure: kDataLoss with the file's name; returns nothing for other formats
// and for files that are not on this machine.
#include <map>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"

namespace millrace::profile {

struct PageCost {
    std::string codec;  ///< "zstd", "uncompressed", ...
    double nsPerRow = 0;
};

/// Uses the middle row group of the middle file, for at most `seconds` in all; leaves out columns
/// that it does not reach by then.
Result<std::map<std::string, PageCost>> measurePages(const dataset::Dataset& dataset,
                                                     const std::vector<std::string>& columns,
                                                     double seconds = 1);

}  // namespace millrace::profile
