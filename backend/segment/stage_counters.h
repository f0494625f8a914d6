#pragma once
// Measures where the loader's time goes: busy, starved and blocked nanoseconds, rows and bytes of
// each stage, summed over threads, and the share of each column and each step of the recipe.
//
// busy: at work on a processor. starved: waiting for input (read: the file, or a core to run on;
// recipe, order, sink: a core; collate: that, or a segment that is not computed yet). blocked:
// waiting for output (read: no room for one more segment in flight; collate: the sink has no free
// slot). Columns and steps are counted once per split, never once per row. The copying of a column
// into frames is measured on every 16th frame and scaled to the stage's time. Threads: add..() from
// any; snapshots are consistent number by number.
#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "backend/core/mutex.h"
#include "backend/dataset/column_cost.h"
#include "backend/recipe/feature_batch.h"
#include "backend/segment/batch_meter.h"

namespace millrace::segment {

enum class Stage { kRead, kRecipe, kOrder, kCollate, kSink };
constexpr int kNumStages = 5;
constexpr std::array<std::string_view, kNumStages> kStageNames{"read", "recipe", "order", "collate",
                                                               "sink"};
enum class Wait { kStarved, kBlocked };

struct StageCount {
    std::int64_t busyNs = 0;
    std::int64_t starvedNs = 0;
    std::int64_t blockedNs = 0;
    std::int64_t rows = 0;
    std::int64_t bytes = 0;
};

struct ColumnCount {
    std::int64_t readNs = 0;     ///< file, decompression, decoding
    std::int64_t waitNs = 0;     ///< off the processor while reading
    std::int64_t encodeNs = 0;   ///< from the column's values to the feature's
    std::int64_t collateNs = 0;  ///< copying into frames
    std::int64_t rows = 0;       ///< rows read
    std::int64_t diskBytes = 0, decodedBytes = 0;
    std::int64_t busyNs() const { return readNs + encodeNs + collateNs; }
};

struct StepTime {
    std::int64_t busyNs = 0, rowsIn = 0, rowsOut = 0;
};

/// Name of the entry for formats whose columns are read together (CSV, Arrow IPC).
inline constexpr char kAllColumns[] = "(all columns)";

/// Name of the entry for copying all dense features, which are in one block.
inline constexpr char kDenseBlock[] = "(dense block)";

class StageCounters {
 public:
    void add(Stage stage, std::int64_t busyNs, std::int64_t rows, std::int64_t bytes) {
        Cell& cell = cells_[static_cast<std::size_t>(stage)];
        cell.busyNs.fetch_add(busyNs, std::memory_order_relaxed);
        cell.rows.fetch_add(rows, std::memory_order_relaxed);
        cell.bytes.fetch_add(bytes, std::memory_order_relaxed);
    }
    void addWait(Stage stage, Wait wait, std::int64_t ns) {
        Cell& cell = cells_[static_cast<std::size_t>(stage)];
        (wait == Wait::kStarved ? cell.starvedNs : cell.blockedNs)
            .fetch_add(ns, std::memory_order_relaxed);
    }
    StageCount read(Stage stage) const {
        const Cell& cell = cells_[static_cast<std::size_t>(stage)];
        return {cell.busyNs.load(), cell.starvedNs.load(), cell.blockedNs.load(), cell.rows.load(),
                cell.bytes.load()};
    }

    /// Columns that were read for a split of `rows` rows.
    void addReads(std::span<const dataset::ColumnCost> costs, std::int64_t rows);
    /// The memory that each read column takes, in bytes.
    void addDecoded(std::span<const std::string> columns, std::span<const std::int64_t> bytes);
    void addEncoded(std::span<const recipe::FeatureTime> features);
    void addStep(const std::string& step, const StepTime& time);
    /// Time of one expression of a step that has several, by the column that it makes.
    void addExpression(const std::string& step, const std::string& column, std::int64_t ns);
    /// All columns of one frame, in one call; `ns` as measured.
    void addCollated(std::span<const std::pair<std::string, std::int64_t>> ns);

    /// The mix of a whole micro-batch that was delivered.
    void addMix(const BatchMix& mix);
    BatchMix mix() const;

    /// By name. collateNs is scaled so that all columns together took what the stage took.
    std::map<std::string, ColumnCount> columns() const;
    std::map<std::string, StepTime> steps() const;
    /// Nanoseconds by the column that each expression makes, for steps with several expressions.
    std::map<std::string, std::map<std::string, std::int64_t>> expressions() const;

 private:
    struct alignas(64) Cell {
        std::atomic<std::int64_t> busyNs{0}, starvedNs{0}, blockedNs{0}, rows{0}, bytes{0};
    };
    std::array<Cell, kNumStages> cells_;
    mutable Mutex mutex_;
    std::unordered_map<std::string, ColumnCount> columns_ MR_GUARDED_BY(mutex_);
    std::map<std::string, StepTime> steps_ MR_GUARDED_BY(mutex_);
    std::map<std::string, std::map<std::string, std::int64_t>> expressions_ MR_GUARDED_BY(mutex_);
    BatchMix mix_ MR_GUARDED_BY(mutex_);
};

/// Measures from construction to stop(). A stage is counted once per batch, never once per row.
/// Busy is the time that the thread had a processor.
class StageTimer {
 public:
    explicit StageTimer(StageCounters& counters) : counters_(counters) {}
    /// Counts the time since the last stop (or construction) for `stage`.
    void stop(Stage stage, std::int64_t rows = 0, std::int64_t bytes = 0) {
        const dataset::ColumnCost lap = clock_.lap({}, 0);
        counters_.add(stage, lap.busyNs, rows, bytes);
        counters_.addWait(stage, Wait::kStarved, lap.waitNs);
    }
    /// Counts all of the time since the last stop as waiting.
    void waited(Stage stage, Wait wait) {
        const dataset::ColumnCost lap = clock_.lap({}, 0);
        counters_.addWait(stage, wait, lap.busyNs + lap.waitNs);
    }
    dataset::ColumnCost lap() { return clock_.lap({}, 0); }

 private:
    StageCounters& counters_;
    dataset::CostClock clock_;
};

}  // namespace millrace::segment
