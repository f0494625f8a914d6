#pragma once
// Sorts more rows than memory holds: sorted runs on disk, merged (external merge sort).
//
// Rows with equal keys stay in the order in which they came. Runs are Arrow IPC files in a
// directory of the caller's, removed as they are used up. At most kFanIn runs are merged at once;
// more are merged in several passes. Of the runs' loaded batches, what no later row can precede is
// ordered and gathered at once.
// Memory: about `memoryBytes` for the rows that are collected or merged and their order; a single
// batch that is larger is taken as it is.
// Threads: one owner; `threads` of its own, with the owner's, sort and gather. The order does not
// depend on them. Failure: kResourceExhausted for a full disk, naming the directory.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/status.h"

namespace arrow {
class RecordBatch;
class Schema;
}  // namespace arrow

namespace millrace::table {

using BatchPtr = std::shared_ptr<arrow::RecordBatch>;
using BatchTaker = std::function<Status(BatchPtr)>;

class ExternalSort {
 public:
    static constexpr std::size_t kFanIn = 64;
    struct Options {
        std::vector<std::string> keys;
        std::string directory;  ///< for the runs; made when first needed
        std::int64_t memoryBytes = std::int64_t{256} << 20;
        std::size_t fanIn = kFanIn;
        int threads = 1;
    };

    static Result<std::unique_ptr<ExternalSort>> make(std::shared_ptr<arrow::Schema> schema,
                                                      Options options);
    ~ExternalSort();

    Status add(BatchPtr batch);
    /// All rows in order, in batches; once, at the end.
    Status finish(const BatchTaker& take);
    /// Runs that were written so far.
    std::int64_t numRuns() const { return runsWritten_; }

 private:
    ExternalSort(std::shared_ptr<arrow::Schema> schema, Options options, std::vector<int> columns);
    Status writeRuns();
    Status writeRun(std::vector<BatchPtr>& batches, const std::string& path) const;
    Status mergeRuns(std::vector<std::string> paths, const BatchTaker& take);
    std::string nextRunPath();
    std::int64_t rowsOf(std::int64_t rows, std::int64_t bytes) const;
    /// In batches of `rowsMost` rows.
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
