#pragma once
// Profiles a dataset's columns from some or all of its splits: their values, the cost of reading
// them, and what could be written better.
//
// Splits (parts of row groups that decode to at most 256 MB) are read in random order, the same for
// the same dataset, until the time is up; at least one. Columns are distributed over threads, so
// the figures do not depend on the number of threads.
// Threads: profile() belongs to one owner, starts its own and joins them. Failure: data errors name
// file, row group and column; kCancelled if a stop is requested.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "backend/dataset/dataset.h"
#include "backend/dataset/description.h"
#include "backend/profile/advice.h"
#include "backend/profile/column_profile.h"
#include "backend/profile/request_guess.h"
#include "backend/text/json.h"

namespace millrace::profile {

struct ProfileOptions {
    std::string dataset;  ///< YAML of the section `dataset`, for the advisor's commands
    double seconds = 4;
    bool isFull = false;  ///< all splits, without a time limit
    int threads = 1;
    std::string request;  ///< column; "": guess it
    bool advises = true;
    std::string directory;  ///< for the advisor's measurements; must exist
};

struct ReadCost {
    double cpuSeconds = 0;
    std::int64_t rows = 0;
};

struct DatasetProfile {
    std::vector<expr::RefusedColumn> refused;  ///< columns that cannot be read
    std::vector<ColumnProfile> columns;
    std::vector<dataset::ColumnInfo> facts;  ///< by column
    std::map<std::string, ReadCost> costs;   ///< by column; "": all together
    std::int64_t rows = 0, rowsRead = 0, splits = 0, splitsRead = 0;
    std::optional<RequestGuess> request;
    std::vector<Advice> advice;

    bool isComplete() const { return splitsRead == splits; }
    /// {rows, rows_read, splits, splits_read, request, columns: [{name, type, profile,
    /// read_ns_per_row, ...}], advice: [..]}
    Json toJson() const;
};

/// Progress that another thread can watch.
struct ProfileProgress {
    std::atomic<std::int64_t> splits{0}, splitsDone{0};
    std::atomic<bool> isMeasuring{false};  ///< for the advisor
};

Result<DatasetProfile> profile(std::shared_ptr<const dataset::Dataset> dataset,
                               const ProfileOptions& options, ProfileProgress& progress,
                               const std::stop_token& stop);

}  // namespace millrace::profile
