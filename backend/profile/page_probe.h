#pragma once
// How long the pages of a Parquet column take to decompress, on one row group.
//
// Threads: one owner. Failure: kDataLoss with the file's name; a dataset of another format, or
// files that are not on this machine, give nothing.
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

/// The middle row group of the middle file, at most `seconds` in all; columns that are not reached
/// by then are left out.
Result<std::map<std::string, PageCost>> measurePages(const dataset::Dataset& dataset,
                                                     const std::vector<std::string>& columns,
                                                     double seconds = 1);

}  // namespace millrace::profile
