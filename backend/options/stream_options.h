#pragma once
// The options of `millrace stream` and `millrace-loader stream`: declared once, for help, checks
// and the loader.
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
    /// A cursor or a stream state: the text, or a file that contains it.
    std::optional<std::string> from;
    std::string sink = "hash";      ///< "null", or a table: "parquet", "arrow", "csv"
    std::string part = "train";     ///< or "eval"
    std::int64_t epochs = 0;        ///< 0: the spec's
    std::int64_t threads = 0;       ///< 0: the spec's, else one per core
    std::int64_t microBatches = 0;  ///< ends after this many; 0: no limit
    bool isThroughRing = false;
    std::int64_t ranks = 0;     ///< number of ring readers; 0: not given, uses one
    std::string last = "keep";  ///< or "drop": what to do with an epoch's last step if it is
                                ///< incomplete
    bool isJson = false;
    bool isExplained = false;  ///< reports where the time went
    std::string without;       ///< the part that is omitted, to measure it

    // For sinks that write tables.
    std::string output;      ///< the directory to create
    bool isForced = false;   ///< replaces an existing table
    bool isRows = false;     ///< the dataset's own columns of the kept rows, in file order
    bool isAllRows = false;  ///< with --rows: ignores dataset.where and the recipe
    bool isAsModel = false;  ///< carried columns in the form of a training frame
    std::int64_t rowGroupRows = 65536;
    std::string sort, columns;  ///< comma-separated names
    std::string codec = "zstd";

    bool isTable() const { return sink != "hash" && sink != "null"; }
};

/// The options offered to users.
const std::vector<OptionSpec>& streamOptions();
/// Options of the loader only: for measurements, and for its output.
const std::vector<OptionSpec>& loaderOptions();

/// Reads the values of both kinds of options, as typed.
Result<StreamOptions> readStreamOptions(const OptionValues& values);

}  // namespace millrace::options
