#pragma once
// A table being written: record batches in, a directory of files out.
//
// DIR/part-00000.parquet, part-00001.parquet, ... (a new file after fileBytes) and DIR/_table.json,
// which records the table's origin. Rows are collected into row groups of `rowGroupRows`, fewer if
// those would exceed their share of the memory. With sort keys everything is sorted first
// (ExternalSort). Nothing is visible before commit(), and nothing is left without it.
// Threads: one owner at a time. With `writer.threads` above 1 it starts its own, which encode row
// groups while the next rows arrive, or leaves that to the threads that make the rows
// (sharedWork()).
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/unique_fd.h"
#include "backend/table/group_pipeline.h"
#include "backend/table/output_place.h"
#include "backend/table/shared_work.h"
#include "backend/table/table_writer.h"
#include "backend/text/json.h"

namespace millrace::table {

struct TableOptions {
    std::string directory;
    bool isForced = false;
    WriterOptions writer;
    bool isShared = false;  ///< with several threads: callers of sharedWork() encode
    std::int64_t rowGroupRows = 65536;
    std::int64_t fileBytes = 1'000'000'000;
    std::vector<std::string> sort;
    std::int64_t memoryBytes = 512'000'000;  ///< for row groups and sorting
};

struct TableTotals {
    std::int64_t rows = 0, bytes = 0, files = 0, rowGroups = 0, sortRuns = 0;
    std::int64_t smallestGroupRows = 0;  ///< of row groups that the memory limit cut short; 0: none
};

class TableOutput {
 public:
    static Result<std::unique_ptr<TableOutput>> open(TableOptions options);
    ~TableOutput();

    /// Call it once, before the first batch.
    Status start(std::shared_ptr<arrow::Schema> schema);
    Status add(BatchPtr batch);
    /// The work that add() leaves; null if there is none (one thread, own threads, or sorted). Call
    /// it between start() and commit().
    SharedWork* sharedWork() const { return isShared() ? pipeline_.get() : nullptr; }
    /// Writes the remaining rows and `facts` as _table.json, and renames the directory to its
    /// target.
    Status commit(const Json& facts);

    const TableTotals& totals() const { return totals_; }
    const std::string& target() const { return place_.target(); }

 private:
    TableOutput(TableOptions options, OutputPlace place)
        : options_(std::move(options)), place_(std::move(place)) {}
    bool isShared() const {
        return options_.isShared && options_.sort.empty() && options_.writer.threads > 1;
    }
    Status collect(BatchPtr batch);
    Status writeGroup();
    Status append(const EncodedGroup& group);
    Status openFile();
    Status closeFile();
    void startWriteback(std::int64_t bytes);

    const TableOptions options_;
    OutputPlace place_;
    std::shared_ptr<arrow::Schema> schema_;
    std::unique_ptr<ExternalSort> sort_;
    std::vector<BatchPtr> group_;
    std::int64_t groupRows_ = 0, groupBytes_ = 0;
    std::unique_ptr<TableEncoder> encoder_;
    std::unique_ptr<TableFile> file_;
    UniqueFd writeback_;               ///< the file of `file_`
    std::int64_t writebackBytes_ = 0;  ///< bytes of it that the disk was asked to write
    std::unique_ptr<GroupPipeline> pipeline_;
    TableTotals totals_;
};

}  // namespace millrace::table
