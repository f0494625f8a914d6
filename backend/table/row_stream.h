#pragma once
// The dataset's own columns for the rows that a recipe keeps, in file order: a recipe's output in
// the form of the source table (`millrace stream --rows`).
//
// dataset.where and the recipe's steps choose the rows, with the random draws of epoch 0; labels
// and features are not made. Several threads read splits and hand them on in plan order. Before a
// thread reads more, it does the work that the taker left, so memory holds about one split per
// thread. A thread that waits for its turn does the same, or helps to read the columns of the split
// whose turn it is.
// Threads: run() belongs to one owner, starts its own and joins them; rowsRead() and rowsKept()
// from any.
// Failure: data errors name file and row; columns that cannot be read (struct, map) are refused;
// kFailedPrecondition for a file or side table that differs from the planned one.
#include <atomic>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/memory_budget.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/dataset/dataset.h"
#include "backend/dataset/split_reader.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/work_stealing.h"
#include "backend/spec/run_spec.h"
#include "backend/stream/plan.h"
#include "backend/table/external_sort.h"
#include "backend/table/shared_work.h"

namespace millrace::table {

class RowStream {
 public:
    struct Options {
        std::vector<std::string> columns;  ///< empty: all
        int threads = 1;
        arrow::MemoryPool* pool = nullptr;  ///< for what is read; null: Arrow's own
    };
    /// `budget` holds the side tables and outlives the stream.
    static Result<std::unique_ptr<RowStream>> open(const spec::RunSpec& spec,
                                                   const stream::Plan& plan, MemoryBudget& budget,
                                                   Options options);
    ~RowStream();

    const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
    /// `take` is called by one thread at a time, in order. Its rows are valid only if run() returns
    /// OK: the files are verified once more at the end. `left`: the taker's remaining work, or
    /// null; with it, batches have at most kRowsTaken rows. When run() returns OK, all open work of
    /// `left` is done or is being finished by its last call.
    Status run(const BatchTaker& take, std::stop_token stop, SharedWork* left = nullptr);
    static constexpr std::int64_t kRowsTaken = 65'536;

    std::int64_t rowsRead() const { return rowsRead_.load(); }
    std::int64_t rowsKept() const { return rowsKept_.load(); }
    /// True if a step weights rows: the table has no column for weights.
    bool hasWeights() const { return hasWeights_; }

 private:
    struct SplitPosition {
        std::uint32_t file = 0;
        stream::PlanSplit split;
    };
    class Columns;
    class SomeRows;
    RowStream();
    Status makeSchema();
    Result<BatchPtr> readSplit(const segment::Readers& readers, std::size_t split);
    Result<std::vector<std::uint64_t>> keptRows(const SplitPosition& place, Columns& columns) const;
    void work(const BatchTaker& take, const std::stop_token& stop);
    Status handOn(const Result<BatchPtr>& batch, std::size_t split, const BatchTaker& take);
    bool awaitTurn(std::size_t split, dataset::SplitReader& helper);
    bool doLeft() { return left_ != nullptr && left_->doPiece(); }
    void fail(const Status& error);

    Options options_;
    std::vector<stream::PlanFile> files_;
    std::vector<SplitPosition> splits_;
    std::vector<std::string> columns_;
    std::shared_ptr<const dataset::Dataset> dataset_;
    std::shared_ptr<const recipe::CompiledRecipe> recipe_;
    std::shared_ptr<arrow::Schema> schema_;
    bool hasWeights_ = false;
    SharedWork* left_ = nullptr;  ///< of run()
    std::atomic<std::int64_t> rowsRead_{0}, rowsKept_{0};
    std::atomic<std::size_t> next_{0};
    std::atomic<std::size_t> turn_{0};  ///< number of splits handed on
    std::atomic<bool> hasFailed_{false};
    Mutex mutex_;
    Status error_ MR_GUARDED_BY(mutex_);
    segment::StageCounters counters_;  ///< never read here
    segment::WorkStealing jobs_;       ///< column reads of splits, by split number
};

}  // namespace millrace::table
