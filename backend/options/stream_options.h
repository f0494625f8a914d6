#pragma once
// What `millrace stream` and `millrace-loader stream` can be asked for: declared once, for help,
// checks, and what the loader does with it.
//
// Threads: values. Failure: kInvalidArgument, one sentence.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/status.h"
#include "backend/options/option.h"

namespace millrace::options {

struct StreamOptions {
    std::string specPath;
    std::string variation;
    std::vector<std::string> sets;
    /// A cursor or a stream state: text, or a file that holds it.
    std::optional<std::string> from;
    std::string sink = "hash";      ///< "null", or a table: "parquet", "arrow", "csv"
    std::string part = "train";     ///< or "eval"
    std::int64_t epochs = 0;        ///< 0: the spec's
    std::int64_t threads = 0;       ///< 0: the spec's, else one for each core
    std::int64_t microBatches = 0;  ///< ends after so many; 0: no limit
    bool isThroughRing = false;
    std::int64_t ranks = 0;     ///< readers of rings; 0: not given, one
    std::string last = "keep";  ///< or "drop": an epoch's last step, where it is not whole
    bool isJson = false;
    bool isExplained = false;  ///< says where the time went
    double linkMegabytes = 0;  ///< a second; above 0: frames as over such a link
    std::string codecs;        ///< a file: the report of a stream whose codecs are used again
    std::string without;       ///< "counters" or "order": left out, to measure what it costs

    // Of the sinks that write tables.
    std::string output;      ///< the directory to make
    bool isForced = false;   ///< replaces a table that stands there
    bool isRows = false;     ///< the dataset's own columns of the kept rows, in file order
    bool isAllRows = false;  ///< of --rows: whatever dataset.where and the recipe say
    bool isAsModel = false;  ///< carried columns as a frame of training has them
    std::int64_t rowGroupRows = 65536;
    std::string sort, columns;  ///< names separated by commas
    std::string codec = "zstd";

    bool isTable() const { return sink != "hash" && sink != "null"; }
};

/// What people are offered.
const std::vector<OptionSpec>& streamOptions();
/// Of the loader alone: what measuring needs, and how it prints.
const std::vector<OptionSpec>& loaderOptions();

/// Values of both, as they were typed.
Result<StreamOptions> readStreamOptions(const OptionValues& values);

}  // namespace millrace::options
