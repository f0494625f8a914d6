#pragma once
// What the way in which files were written costs whoever reads them, in figures, and the command
// that writes them better.
//
// Measured where it can be: rows of the dataset are written both ways and read with the loader's
// reader. Threads: one owner. Failure: what cannot be measured is left out.
#include <cstdint>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/dataset/description.h"
#include "backend/profile/request_guess.h"

namespace arrow {
class RecordBatch;
}  // namespace arrow

namespace millrace::profile {

struct Advice {
    std::string kind;        ///< "float_dictionary", "scattered_requests", "row_groups", "codec"
    std::string finding;     ///< a sentence with figures
    double bytesFactor = 1;  ///< bytes now / bytes written better; 1: the same or not measured
    double timeFactor = 1;   ///< processor time to read, likewise
    bool isMeasured = false;
    std::string command;  ///< puts it right; "": nothing is to be done
    Json toJson() const;
};

struct AdviceInput {
    std::string path;  ///< of the dataset, as given
    std::string format;
    std::vector<dataset::ColumnFacts> columns;
    std::int64_t rows = 0, rowGroups = 0, decodedBytes = 0;
    std::optional<RequestGuess> request;
    std::shared_ptr<arrow::RecordBatch> sample;  ///< rows that stand together in the files
    std::string directory;                       ///< for what is written to be measured
};

/// The costliest first. Ends early, with what there is, when asked to stop.
std::vector<Advice> advise(const AdviceInput& input, const std::stop_token& stop);

}  // namespace millrace::profile
