#pragma once
// A dataset's columns from some of its splits, or all: what values there are, what reading takes,
// what could be written better.
//
// Splits (stretches of row groups that decode to 256 MB at most) are read in random order, the same
// for the same dataset, until the time is up; at least one. Columns are dealt to threads, so the
// figures do not depend on how many there are.
// Threads: profile() belongs to one owner, starts its own and joins them. Failure: data errors name
// file, row group and column; kCancelled when asked to stop.
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "backend/core/json.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/description.h"
#include "backend/profile/advice.h"
#include "backend/profile/column_profile.h"
#include "backend/profile/request_guess.h"

namespace millrace::profile {

struct ProfileOptions {
    std::string path;  ///< as given: for the commands that the advisor names
    double seconds = 4;
    bool isFull = false;  ///< all splits, whatever it takes
    int threads = 1;
    std::string request;  ///< column; "": it is guessed
    bool advises = true;
    std::string directory;  ///< for what the advisor measures; exists
};

struct ReadCost {
    double cpuSeconds = 0;
    std::int64_t rows = 0;
};

struct DatasetProfile {
    std::vector<ColumnProfile> columns;
    std::vector<dataset::ColumnFacts> facts;  ///< by column
    std::map<std::string, ReadCost> costs;    ///< by column; "": all together
    std::int64_t rows = 0, rowsRead = 0, splits = 0, splitsRead = 0;
    std::optional<RequestGuess> request;
    std::vector<Advice> advice;

    bool isComplete() const { return splitsRead == splits; }
    /// {rows, rows_read, splits, splits_read, request, columns: [{name, type, profile,
    /// read_ns_per_row,
    /// ...}], advice: [..]}
    Json toJson() const;
};

/// Followed while it works.
struct ProfileProgress {
    std::atomic<std::int64_t> splits{0}, splitsDone{0};
    std::atomic<bool> isMeasuring{false};  ///< for the advisor
};

Result<DatasetProfile> profile(std::shared_ptr<const dataset::Dataset> dataset,
                               const ProfileOptions& options, ProfileProgress& progress,
                               const std::stop_token& stop);

}  // namespace millrace::profile
