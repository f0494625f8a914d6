#pragma once
// What people ask about a dataset: files, row groups, columns with statistics and sizes.
//
// From footers alone; no value is read. What the footers do not say is absent, never zero.
// Threads: any; both calls start up to `threads` of their own and join them.
// Failure: kDataLoss and kNotFound name the file, as of Dataset.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/core/status.h"
#include "backend/dataset/dataset.h"

namespace millrace::dataset {

struct ColumnFacts {
    std::string name, type;
    bool isNullable = true;
    std::optional<std::int64_t> nulls;
    std::optional<std::int64_t> diskBytes;     ///< compressed
    std::optional<std::int64_t> decodedBytes;  ///< CSV: bytes of text
    std::string min, max;                      ///< as text; "": not known
    std::string encoding, codec;               ///< "PLAIN, RLE_DICTIONARY"; "zstd"
    std::optional<bool> hasPageIndex;          ///< in all files
    Json toJson() const;  ///< {name, type, is_nullable, nulls, disk_bytes, ...}; absent: unknown
};

struct DescribeOptions {
    std::int64_t filesMax = 1000;       ///< files to list one by one; the totals count all
    std::int64_t statisticsMax = 4096;  ///< datasets of more files get no statistics
    int threads = 4;
};

/// The dataset's columns in order. Statistics (nulls, min, max, disk bytes, encodings, codec) are
/// there for Parquet alone.
Result<std::vector<ColumnFacts>> columnFacts(const Dataset& dataset,
                                             const DescribeOptions& options = {});

/// {format, files: [{path, bytes, rows, row_groups: [{rows, disk_bytes, decoded_bytes}]}],
/// files_total, rows, row_groups, bytes, decoded_bytes, columns: [as ColumnFacts], left_out:
/// [{name, why}]}. At most 1,000 row groups of a file and 100,000 in all are listed. Left out is
/// what cannot be a feature, structs whose fields can aside.
Result<Json> describe(const Dataset& dataset, const DescribeOptions& options = {});

}  // namespace millrace::dataset
