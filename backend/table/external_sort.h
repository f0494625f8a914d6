#pragma once
// Sorts more rows than memory holds: writes sorted runs to disk and merges them (external merge
// sort).
//
// Rows with equal keys stay in the order in which they came. Runs are Arrow IPC files in a
// directory of the caller's and are removed once used up. At most kFanIn runs are merged at once;
// more need several passes. A merge step orders and gathers all loaded rows that no later row can
// precede.
// Memory: about `memoryBytes` for the rows that are collected or merged and their order; a single
// larger batch is accepted.
// Threads: one owner; `threads` of its own, together with the owner's, sort and gather. The order
// does not depend on them. Failure: kResourceExhausted for a full disk; the message names the
// directory.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/status.h"

namespace millrace::table {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
using BatchTaker = std::function<Status(BatchPtr)>;

class ExternalSort {
 public:
    static constexpr std::size_t kFanIn = 64;
    struct Options {
        std::vector<std::string> keys;
        std::string directory;  ///< for the runs; created when first needed
        std::int64_t memoryBytes = std::int64_t{256} << 20;
        std::size_t fanIn = kFanIn;
        int threads = 1;
    };

    static Result<std::unique_ptr<ExternalSort>> make(std::shared_ptr<arrow::Schema> schema,
                                                      Options options);
    ~ExternalSort();

    Status add(BatchPtr batch);
    /// Passes all rows to `take`, in order and in batches; call it once, at the end.
    Status finish(const BatchTaker& take);
    /// Number of runs written so far.
    std::int64_t numRuns() const { return runsWritten_; }

 private:
    ExternalSort(std::shared_ptr<arrow::Schema> schema, Options options, std::vector<int> columns);
    Status writeRuns();
    Status writeRun(std::vector<BatchPtr>& batches, const std::string& path) const;
    Status mergeRuns(std::vector<std::string> paths, const BatchTaker& take);
    std::string nextRunPath();
    std::int64_t rowsOf(std::int64_t rows, std::int64_t bytes) const;
    /// Passes the sorted rows to `take` in batches of `rowsMost` rows.
    Status giveSorted(const std::vector<BatchPtr>& batches, std::int64_t rowsMost, int threads,
                      const BatchTaker& take) const;

    const std::shared_ptr<arrow::Schema> schema_;
    const Options options_;
    const std::vector<int> columns_;
    std::vector<BatchPtr> collected_;
    std::int64_t collectedBytes_ = 0, collectedRows_ = 0;
    std::vector<std::string> runs_;
    std::int64_t runsWritten_ = 0;
};

}  // namespace millrace::table
