#pragma once
// Work on segments that is open to every thread that has time: splits that nobody has begun,
// columns of splits that are being read, and pieces (stretches of rows) that a recipe is being run
// on.
//
// Who computes a segment takes its splits one after the other, reads a split's columns, and then
// runs its pieces; a thread that cannot start a segment of its own takes the next split of the
// foremost one that has any, else a column, else a piece. Until the first frame, or segment without
// one, is delivered, threads that compute later segments take columns and pieces too before each of
// their own: a stream's first batch waits for one segment, not for as many as there are threads.
// Which thread does what changes nothing in it.
//
// Threads: any; a job lasts as long as the call of its owner, who waits for those that help.
// Failure: that of the first column, in the order of their names' list, that cannot be read.
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
#include "backend/pages/row_wish.h"
#include "backend/segment/stage_counters.h"

namespace millrace::segment {

using ColumnArrays = std::vector<std::shared_ptr<arrow::Array>>;

/// What a thread reads with: columns of splits of its own, and those of others.
struct Readers {
    dataset::SplitReader& own;
    dataset::SplitReader& others;
};

/// Runs a segment's split, or a split's piece, on the calling thread, which reads with these;
/// counts its own time. False: none behind it needs to be begun.
using UnitWork = std::function<bool(std::size_t index, const Readers& readers)>;

/// Where a split stands in a stream.
struct SplitPlace {
    /// Its segment's of those in flight: the foremost has the least.
    std::int64_t flightNumber = 0;
    std::int64_t split = 0;  ///< of the segment
    auto operator<=>(const SplitPlace&) const = default;
};

/// Rows of a piece, where nothing else is said: its columns fit the second-level cache, and what is
/// done once a piece (to allocate, to begin a loop) does not count.
inline constexpr std::int64_t kPieceRows = 16'384;

class OpenWork {
 public:
    /// `onOpen`: called without a lock when there is something to be helped with. Reads of fewer
    /// than `leastValues` values (rows times columns) are over before another thread is awake.
    /// `pieceRows`: recipes are run on pieces of so many rows.
    OpenWork(StageCounters& counters, std::function<void()> onOpen, std::int64_t leastValues,
             std::int64_t pieceRows = kPieceRows);

    std::int64_t pieceRows() const { return pieceRows_; }

    /// `wished` of `rows` rows are to be read, of columns of `valuesARow` values each; a row costs
    /// the page that it stands on, so few that are scattered cost about as much as all.
    bool isWorthSharing(std::int64_t wished, std::int64_t rows, std::int64_t valuesARow,
                        std::size_t columns) const {
        const std::int64_t decoded = std::min(rows, wished * kRowsOfAWish) * valuesARow;
        return columns > 1 && decoded * static_cast<std::int64_t>(columns) >= leastValues_;
    }

    /// A split's columns. `readers` are the caller's.
    Result<ColumnArrays> read(const SplitPlace& place, const dataset::SplitRange& split,
                              const std::vector<std::string>& names, const pages::RowWish& wish,
                              const Readers& readers);

    /// Runs splits [0, count) of one segment, whoever has time, in this order; returns when all are
    /// done, or when one said that none behind it is needed and those before it are done.
    void runSplits(std::int64_t flightNumber, std::size_t count, const UnitWork& work,
                   const Readers& readers);
    /// Runs pieces [0, count) of one split, whoever has time; returns when all are done.
    void runPieces(const SplitPlace& place, std::size_t count, const UnitWork& work,
                   const Readers& readers);

    /// Runs a split, reads a column, or runs a piece, of the foremost segment that has one; false:
    /// none has.
    bool help(const Readers& readers) { return helpIn(before(kBehindAll), readers, Takes::kAll); }
    /// Helps with that split's columns, or waits, until `isDone`, which becomes true before a call
    /// of tell(). It is asked under a lock and must take none.
    void helpUntil(const SplitPlace& place, dataset::SplitReader& helper,
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
    /// A segment's splits come before the columns of those that are begun (who takes a whole one
    /// waits for nobody), and columns before pieces, which may wait for them.
    enum class Kind { kSplits, kColumns, kPieces };
    enum class Takes { kColumns, kColumnsAndPieces, kAll };
    struct Place {
        std::int64_t flightNumber;
        Kind kind;
        std::int64_t split;
        auto operator<=>(const Place&) const = default;
    };
    /// Places from the first one to before the last one.
    struct Places {
        Place begin, end;
    };
    static Places before(std::int64_t flightNumber) {
        return {{0, Kind::kSplits, 0}, {flightNumber, Kind::kSplits, 0}};
    }
    using Unit = std::vector<std::size_t>;  ///< columns that are claimed together
    /// Columns that were asked for together, and what was read of a file for each the last time.
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
    mutable Mutex mutex_;
    CondVar changed_;  ///< a job is finished or open, or somebody told
    std::map<Place, JobPtr> jobs_ MR_GUARDED_BY(mutex_);
    bool isHasty_ MR_GUARDED_BY(mutex_) = true;
    std::vector<LastRead> lastReads_ MR_GUARDED_BY(mutex_);  ///< the latest first
};

}  // namespace millrace::segment
