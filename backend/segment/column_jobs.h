#pragma once
// Work on segments that is open to every thread that has time: columns of splits that are being
// read, and pieces (stretches of rows) that a recipe is being run on.
//
// Who computes a segment reads a split's columns one after the other, and then runs its pieces; a
// thread that cannot start a segment of its own takes the next column, or piece, of the foremost
// one that has any. Until the first frame, or segment without one, is delivered, threads that
// compute later segments do so too before each of their own: a stream's first batch waits for one
// segment, not for as many as there are threads. Which thread does what changes nothing in it.
//
// Threads: any; a job lasts as long as the call of its owner, who waits for those that help.
// Failure: that of the first column, in the order of their names' list, that cannot be read.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/dataset/split_reader.h"
#include "backend/pages/row_wish.h"
#include "backend/segment/stage_counters.h"

namespace millrace::segment {

using ColumnArrays = std::vector<std::shared_ptr<arrow::Array>>;

/// What a thread reads with: columns of splits of its own, and those of others.
struct Readers {
    dataset::SplitReader& own;
    dataset::SplitReader& others;
};

/// Runs piece `index` on the calling thread, which reads with these; counts its own time.
using PieceWork = std::function<void(std::size_t index, const Readers& readers)>;

/// Rows of a piece, where nothing else is said: its columns fit the second-level cache, and what is
/// done once a piece (to allocate, to begin a loop) does not count.
inline constexpr std::int64_t kPieceRows = 16'384;

class ColumnJobs {
 public:
    /// `onOpen`: called without a lock when there is something to be helped with. Reads of fewer
    /// than `leastValues` values (rows times columns) are over before another thread is awake.
    /// `pieceRows`: recipes are run on pieces of so many rows.
    ColumnJobs(StageCounters& counters, std::function<void()> onOpen, std::int64_t leastValues,
               std::int64_t pieceRows = kPieceRows);

    std::int64_t pieceRows() const { return pieceRows_; }

    /// `wished` of `rows` rows are to be read, of columns of `valuesARow` values each; a row costs
    /// the page that it stands on, so few that are scattered cost about as much as all.
    bool isWorthSharing(std::int64_t wished, std::int64_t rows, std::int64_t valuesARow,
                        std::size_t columns) const {
        const std::int64_t decoded = std::min(rows, wished * kRowsOfAWish) * valuesARow;
        return columns > 1 && decoded * static_cast<std::int64_t>(columns) >= leastValues_;
    }

    /// A split's columns of one segment. `flightNumber`: the segment's among those in flight, the
    /// foremost has the least, no two alike. `reader` is the caller's; `helper` is used for others'
    /// columns.
    Result<ColumnArrays> read(std::int64_t flightNumber, const dataset::SplitRange& split,
                              const std::vector<std::string>& names, const pages::RowWish& wish,
                              dataset::SplitReader& reader, dataset::SplitReader& helper);

    /// Runs pieces [0, count) of one segment, whoever has time; returns when all are done.
    void runPieces(std::int64_t flightNumber, std::size_t count, const PieceWork& work,
                   const Readers& readers);

    /// Reads a column, or runs a piece, of the foremost segment that has one; false: none has.
    bool help(dataset::SplitReader& helper) {
        return helpBefore({kBehindAll, Kind::kColumns}, helper, true);
    }
    /// Helps with that segment's columns, or waits, until `isDone`, which becomes true before a
    /// call of tell(). It is asked under a lock and must take none.
    void helpUntil(std::int64_t flightNumber, dataset::SplitReader& helper,
                   const std::function<bool()>& isDone);
    void tell();
    bool isOpen() const;
    /// Neither a frame nor a whole segment was delivered yet.
    bool isHasty() const;
    /// One was: nobody leaves columns of his own for others' any more.
    void firstIsDelivered();

 private:
    static constexpr std::int64_t kBehindAll = INT64_MAX;
    static constexpr std::int64_t kRowsOfAWish = 256;  ///< far less than a page's
    /// A segment's columns come before its pieces, which may wait for them.
    enum class Kind { kColumns, kPieces };
    using Place = std::pair<std::int64_t, Kind>;  ///< flight number and kind
    using Unit = std::vector<std::size_t>;        ///< columns that are claimed together
    struct Job;
    using JobPtr = std::shared_ptr<Job>;
    struct Claim {
        JobPtr job;
        std::size_t unit = 0;
    };
    Claim claimLocked(const JobPtr& job) MR_REQUIRES(mutex_);
    Claim claim(const JobPtr& job);
    Claim claimBefore(const Place& place, bool takesPieces);
    bool helpBefore(const Place& place, dataset::SplitReader& helper, bool takesPieces);
    void open(const Place& place, const JobPtr& job);
    void close(const Place& place, const JobPtr& job);
    void work(const Claim& claim, const Readers& readers);
    bool readUnit(Job& job, const Unit& unit, dataset::SplitReader& reader);
    std::vector<Unit> largestFirst(const std::vector<std::string>& names) const MR_EXCLUDES(mutex_);

    StageCounters& counters_;
    const std::function<void()> onOpen_;
    const std::int64_t leastValues_, pieceRows_;
    mutable Mutex mutex_;
    CondVar changed_;  ///< a job is finished or open, or somebody told
    std::map<Place, JobPtr> jobs_ MR_GUARDED_BY(mutex_);
    bool isHasty_ MR_GUARDED_BY(mutex_) = true;
    /// Of a file, read for a column the last time.
    std::unordered_map<std::string, std::int64_t> lastBytes_ MR_GUARDED_BY(mutex_);
};

}  // namespace millrace::segment
