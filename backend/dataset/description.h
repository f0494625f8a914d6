#pragma once
// Describes a dataset for people: files, row groups, columns with statistics and sizes.
//
// Uses footers only; no value is read. What the footers lack is absent, never zero.
// Threads: any; both calls start up to `threads` of their own and join them.
// Failure: kDataLoss and kNotFound name the file, as in Dataset.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/text/json.h"

namespace millrace::dataset {

/// Names the columns that are left out because the files differ; "" if there are none.
std::string differingNote(const expr::Schema& schema);

struct ColumnInfo {
    std::string name, type;
    bool isNullable = true;
    std::optional<std::int64_t> nulls;
    std::optional<std::int64_t> diskBytes;     ///< compressed
    std::optional<std::int64_t> decodedBytes;  ///< CSV: bytes of text
    std::string min, max;                      ///< as text; "": unknown
    std::string encoding, codec;               ///< "PLAIN, RLE_DICTIONARY"; "zstd"
    std::optional<bool> hasPageIndex;          ///< in all files
    Json toJson() const;  ///< {name, type, is_nullable, nulls, disk_bytes, ...}; absent: unknown
};

struct DescribeOptions {
    std::int64_t filesMax = 1000;       ///< files to list individually; the totals count all
    std::int64_t statisticsMax = 4096;  ///< with more files, a dataset gets no statistics
    int threads = 4;
};

/// The dataset's columns in order. Only Parquet has statistics (nulls, min, max, disk bytes,
/// encodings, codec).
Result<std::vector<ColumnInfo>> columnFacts(const Dataset& dataset,
                                            const DescribeOptions& options = {});

/// {format, files: [{path, bytes, rows, row_groups: [{rows, disk_bytes, decoded_bytes}]}],
/// files_total, rows, row_groups, bytes, decoded_bytes, columns: [as ColumnInfo], left_out:
/// [{name, why}]}. Lists at most 1,000 row groups per file and 100,000 in all. left_out has the
/// columns that cannot be features, except structs with usable fields.
Result<Json> describe(const Dataset& dataset, const DescribeOptions& options = {});

}  // namespace millrace::dataset
