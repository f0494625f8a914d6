#pragma once
// Provides one split's columns to the recipe: whole, or piece by piece.
//
// SplitColumns reads; PiecesOfSplit shares out what was read. The first piece that requests a
// column has it read for all rows that are left of the split. Threads of other pieces that need the
// column help to read it; then each piece takes its rows.
// Threads: see each class. Failure: the readers'.
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/segment/memory/buffer_pool.h"
#include "backend/segment/stage_counters.h"
#include "backend/segment/work_stealing.h"

namespace millrace::segment {

/// The state that threads share when they share a segment's work.
struct Sharing {
    WorkStealing* jobs = nullptr;        ///< null: no other thread helps
    std::optional<SplitPosition> place;  ///< none: no other thread helps
    BufferPool& pool;
    StageCounters& counters;

    bool isOn() const { return jobs != nullptr && place.has_value(); }
};

/// Threads: one at a time. columns() and rows() read with the readers of the split's owner.
class SplitColumns final : public recipe::ColumnSource {
 public:
    /// `valuesARow`: approximate values per row of a column; more than one for lists and long
    /// texts.
    SplitColumns(const Sharing& sharing, const dataset::SplitRange& split, const Readers& owner,
                 std::int64_t valuesARow = 1)
        : sharing_(sharing), split_(split), owner_(owner), valuesARow_(valuesARow) {}

    Result<ColumnArrays> columns(const std::vector<std::string>& names) override {
        return rows(names, {});
    }
    Result<ColumnArrays> rows(const std::vector<std::string>& names,
                              const pages::RowSelection& selection) override;
    /// Reads a column that will be requested again.
    Result<std::shared_ptr<arrow::Array>> keep(const std::string& name);
    std::int64_t readNs() const override { return readNs_; }
    std::int64_t waitNs() const { return waitNs_; }

    /// Like rows(), but with the readers of the calling thread, which counts its own time.
    Result<ColumnArrays> read(const std::vector<std::string>& names,
                              const pages::RowSelection& selection, const Readers& readers);

 private:
    const Sharing& sharing_;
    const dataset::SplitRange split_;
    const Readers owner_;
    const std::int64_t valuesARow_;
    std::string keptName_;
    std::shared_ptr<arrow::Array> kept_;
    bool isFirst_ = true;
    std::int64_t readNs_ = 0, waitNs_ = 0;
};

/// Threads: each(), one() and leave() are for the split's owner; a piece is for the thread that
/// runs it.
class PiecesOfSplit final : public recipe::SplitPieces {
 public:
    /// `columns` of the rows of `whole`; `borders`: the start of each piece, ascending from 0, and
    /// the end of the last. All outlive this object.
    PiecesOfSplit(const Sharing& sharing, SplitColumns& columns, const recipe::SplitInput& whole,
                  std::vector<std::int64_t> borders, const Readers& owner);
    ~PiecesOfSplit() override;

    std::size_t count() const override { return borders_.size() - 1; }
    recipe::SplitInput piece(std::size_t index) const override;
    void each(const std::function<void(std::size_t)>& run) override;
    /// Calls `run` for that piece alone, on the calling thread, which must be the split's owner.
    void one(std::size_t index, const std::function<void(std::size_t)>& run);
    void leave(const std::vector<const std::vector<std::int64_t>*>& rows) override;

    /// The owner's processor time in each() and one(), which is already counted.
    std::int64_t countedNs() const { return countedNs_; }
    /// The error of the first failed read of a column of the split.
    Status failure() {
        MutexLock lock(mutex_);
        return failure_;
    }

 private:
    class Piece;
    /// Rows of the split that are left. Those of a piece are starts[piece] to starts[piece + 1].
    struct Present {
        bool isAll = true;
        std::vector<std::int64_t> rows;  ///< offsets in the split; unused if isAll
        std::vector<std::int64_t> starts;
    };
    /// A column of the rows that were left when it was read.
    struct Stored {
        std::shared_ptr<arrow::Array> array;
        std::shared_ptr<const Present> at;
    };
    Result<ColumnArrays> rowsOf(std::size_t piece, const std::vector<std::string>& names,
                                const pages::RowSelection& selection, const Readers& readers);
    /// `form`: whether repeats may be stored once; its rows do not matter.
    Result<std::vector<Stored>> stored(const std::vector<std::string>& names,
                                       const pages::RowSelection& form, const Readers& readers);
    Status readLocked(const std::vector<std::string>& names, const pages::RowSelection& form,
                      const Readers& readers) MR_REQUIRES(mutex_);
    void waitLocked(const Readers& readers) MR_REQUIRES(mutex_);
    Result<std::shared_ptr<arrow::Array>> cut(const Stored& stored, std::size_t piece,
                                              const pages::RowSelection& selection) const;
    Result<std::vector<std::int64_t>> placesOf(const Present& present, std::size_t piece,
                                               const pages::RowSelection& selection) const;

    const Sharing& sharing_;
    SplitColumns& columns_;
    const recipe::SplitInput& whole_;
    const std::vector<std::int64_t> borders_;
    const Readers owner_;
    std::vector<std::unique_ptr<Piece>> pieces_;
    std::int64_t countedNs_ = 0;
    Mutex mutex_;
    std::atomic<bool> isReading_ = false;  ///< changes only under the lock
    std::shared_ptr<const Present> present_ MR_GUARDED_BY(mutex_);
    std::unordered_map<std::string, Stored> stored_ MR_GUARDED_BY(mutex_);
    Status failure_ MR_GUARDED_BY(mutex_);
};

/// Borders of pieces of about `pieceRows` rows of a split of `rows` rows. `requestStarts`, if
/// requests must stay whole: the rows of the file at which they start, the first of them
/// `firstRow`; null: only rows count.
std::vector<std::int64_t> pieceBorders(std::int64_t rows, std::int64_t pieceRows,
                                       const std::vector<std::uint64_t>* requestStarts,
                                       std::uint64_t firstRow);

}  // namespace millrace::segment
