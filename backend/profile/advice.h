#pragma once
// Measures what the files' encoding costs their readers, and suggests a command that writes them
// better.
//
// If possible, it measures: writes rows of the dataset both ways and reads them with the loader's
// reader. Threads: one owner. Failure: what cannot be measured is left out.
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "backend/dataset/description.h"
#include "backend/profile/request_guess.h"
#include "backend/text/json.h"

namespace arrow {
class RecordBatch;
}  // namespace arrow

namespace millrace::profile {

struct Advice {
    std::string kind;        ///< "float_dictionary", "scattered_requests", "row_groups", "codec"
    std::string finding;     ///< a sentence with figures
    double bytesFactor = 1;  ///< current bytes / bytes if rewritten; 1: equal or not measured
    double timeFactor = 1;   ///< the same for processor time to read
    bool isMeasured = false;
    std::string command;  ///< the fix; "": nothing to do
    Json toJson() const;
};

struct AdviceInput {
    std::string dataset;  ///< YAML of the section `dataset`, for the commands
    std::string format;
    std::vector<dataset::ColumnInfo> columns;
    std::int64_t rows = 0, rowGroups = 0, decodedBytes = 0;
    std::optional<RequestGuess> request;
    std::shared_ptr<arrow::RecordBatch> sample;  ///< adjacent rows of the files
    std::string directory;                       ///< for files written during measurements
};

/// Returns the costliest first. Stops early, with the results so far, if a stop is requested.
std::vector<Advice> advise(const AdviceInput& input, const std::stop_token& stop);

}  // namespace millrace::profile
