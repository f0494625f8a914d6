#pragma once
// Work stealing between the loader's threads. Each thread computes a segment of its own; a thread
// that cannot start one helps with the segments of others.
//
// It steals, in this order: a split that no thread has started, a column of a split that is being
// read, a piece (a range of rows) on which a recipe is running. It takes from the earliest segment
// in delivery order that has any. The owner takes its splits one after the other, reads a split's
// columns, then runs its pieces. Until the first frame, or a segment without frames, is delivered,
// threads with later segments steal too, columns and pieces, before each of their own. The first
// batch then takes the time of one segment, not of one per thread. Stealing never changes a result.
//
// Threads: any. A job lasts as long as the call of its owner, which waits for its helpers.
// Failure: that of the first column that cannot be read, in the order of the given names.
#include <algorithm>
#include <compare>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/dataset/split_reader.h"
#include "backend/pages/row_selection.h"
#include "backend/segment/stage_counters.h"

namespace millrace::segment {

using ColumnArrays = std::vector<std::shared_ptr<arrow::Array>>;

/// A thread's readers: one for splits of its own, one for columns of other threads' splits.
struct Readers {
    dataset::SplitReader& own;
    dataset::SplitReader& others;
};

/// Runs one split of a segment, or one piece of a split, on the calling thread with its readers,
/// and counts its own time. Returns false if no later unit needs to be started.
using UnitWork = std::function<bool(std::size_t index, const Readers& readers)>;

/// Position of a split in a stream.
struct SplitPosition {
    /// Position of its segment in delivery order; the lowest is delivered first.
    std::int64_t flightNumber = 0;
    std::int64_t split = 0;  ///< index in the segment
    auto operator<=>(const SplitPosition&) const = default;
};

/// Default number of rows in a piece. Its columns fit the second-level cache, and the cost per
/// piece (allocations, loop starts) is negligible.
inline constexpr std::int64_t kPieceRows = 16'384;

/// Kinds of work that idle threads may steal. All are on; a measurement switches one off.
struct Stealing {
    bool splits = true, columns = true, pieces = true;
    /// Threads with a segment of their own also steal, until the first delivery.
    bool isHasty = true;
};

class WorkStealing {
 public:
    /// `onOpen`: called without a lock when there is work to steal. Reads of fewer than
    /// `leastValues` values (rows times columns) are not shared: they end before another thread
    /// wakes up. `pieceRows`: rows per piece on which recipes run.
    WorkStealing(StageCounters& counters, std::function<void()> onOpen, std::int64_t leastValues,
                 std::int64_t pieceRows = kPieceRows, Stealing stealing = {});

    std::int64_t pieceRows() const { return pieceRows_; }

    /// Whether a read is worth sharing: `selected` of `rows` rows, of columns with `valuesARow`
    /// values per row. Each row costs the page that it is on, so a few scattered rows cost about as
    /// much as all.
    bool isWorthSharing(std::int64_t selected, std::int64_t rows, std::int64_t valuesARow,
                        std::size_t columns) const {
        const std::int64_t decoded = std::min(rows, selected * kRowsOfAWish) * valuesARow;
        return columns > 1 && decoded * static_cast<std::int64_t>(columns) >= leastValues_;
    }

    /// Reads a split's columns. `readers` are the caller's.
    Result<ColumnArrays> read(const SplitPosition& place, const dataset::SplitRange& split,
                              const std::vector<std::string>& names,
                              const pages::RowSelection& selection, const Readers& readers);

    /// Runs splits [0, count) of one segment in this order, on every thread that is free. Returns
    /// when all are done, or when one returned false and all before it are done.
    void runSplits(std::int64_t flightNumber, std::size_t count, const UnitWork& work,
                   const Readers& readers);
    /// Runs pieces [0, count) of one split on every thread that is free; returns when all are done.
    void runPieces(const SplitPosition& place, std::size_t count, const UnitWork& work,
                   const Readers& readers);

    /// Steals and runs one unit of work from the earliest segment that has any. Returns false if
    /// there is none.
    bool help(const Readers& readers) { return helpIn(before(kBehindAll), readers, Takes::kAll); }
    /// Helps with that split's columns, or waits, until `isDone` returns true. It must become true
    /// before a call of tell(). It is called under a lock and must take none.
    void helpUntil(const SplitPosition& place, dataset::SplitReader& helper,
                   const std::function<bool()>& isDone);
    void tell();
    bool isOpen() const;
    /// Whether neither a frame nor a whole segment was delivered yet.
    bool isHasty() const;
    /// Call at the first delivery. From then on no thread leaves its own columns for those of
    /// others.
    void firstIsDelivered();

 private:
    static constexpr std::int64_t kBehindAll = INT64_MAX;
    static constexpr std::int64_t kRowsOfAWish = 256;  ///< rows that one scattered request decodes
    /// The order of stealing within a segment. Splits come first, because a thread with a whole
    /// split waits for nobody. Columns come before pieces, which may wait for columns.
    enum class Kind { kSplits, kColumns, kPieces };
    enum class Takes { kColumns, kColumnsAndPieces, kAll };
    struct Place {
        std::int64_t flightNumber;
        Kind kind;
        std::int64_t split;
        auto operator<=>(const Place&) const = default;
    };
    /// The half-open range of places from `begin` to `end`.
    struct Places {
        Place begin, end;
    };
    static Places before(std::int64_t flightNumber) {
        return {{0, Kind::kSplits, 0}, {flightNumber, Kind::kSplits, 0}};
    }
    using Unit = std::vector<std::size_t>;  ///< columns that are claimed together
    /// Columns that were requested together, and the bytes that the last read of each took in the
    /// file.
    struct LastRead {
        std::vector<std::string> names;
        std::vector<std::int64_t> bytes;
    };
    struct Job;
    using JobPtr = std::shared_ptr<Job>;
    struct Claim {
        JobPtr job;
        std::size_t unit = 0;
    };
    bool mayBeStolen(Kind kind) const;
    Claim claimLocked(const JobPtr& job) MR_REQUIRES(mutex_);
    Claim claim(const JobPtr& job);
    Claim claimInLocked(const Places& places, Takes takes) MR_REQUIRES(mutex_);
    std::optional<Claim> claimOrWait(const Places& places, Takes takes,
                                     const std::function<bool()>& isDone);
    bool helpIn(const Places& places, const Readers& readers, Takes takes);
    void helpWith(const Claim& claim, const Readers& readers);
    JobPtr openUnits(const Place& place, std::size_t count, const UnitWork& work);
    void open(const JobPtr& job);
    void close(const JobPtr& job);
    void work(const Claim& claim, const Readers& readers);
    bool readUnit(Job& job, const Unit& unit, dataset::SplitReader& reader);
    std::vector<Unit> largestFirst(const std::vector<std::string>& names) MR_EXCLUDES(mutex_);
    std::vector<LastRead>::iterator lastReadLocked(const std::vector<std::string>& names)
        MR_REQUIRES(mutex_);
    void remember(const std::vector<std::string>& names, std::vector<std::int64_t> bytes)
        MR_EXCLUDES(mutex_);

    StageCounters& counters_;
    const std::function<void()> onOpen_;
    const std::int64_t leastValues_, pieceRows_;
    const Stealing stealing_;
    mutable Mutex mutex_;
    CondVar changed_;  ///< a job was finished or opened, or tell() was called
    std::map<Place, JobPtr> jobs_ MR_GUARDED_BY(mutex_);
    bool isHasty_ MR_GUARDED_BY(mutex_);
    std::vector<LastRead> lastReads_ MR_GUARDED_BY(mutex_);  ///< most recent first
};

}  // namespace millrace::segment
