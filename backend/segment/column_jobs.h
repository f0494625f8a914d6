#pragma once
// Columns of splits that are being read, open to every thread that has time: work is stolen by
// column, so that several threads work on one segment.
//
// Who computes a segment reads a split's columns one after the other; a thread that cannot start a
// segment of its own takes the next column of the foremost one that has any. Until the first frame
// is delivered, threads that compute later segments do so too before each column of their own: a
// stream's first batch waits for one segment, not for as many as there are threads.
// Which thread reads a column changes nothing in it.
//
// Threads: any; a job lasts as long as the call of its owner, who waits for those that help.
// Failure: that of the first column, in their order, that cannot be read.
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "backend/dataset/split_reader.h"
#include "backend/pages/row_wish.h"
#include "backend/segment/stage_counters.h"

namespace millrace::segment {

using ColumnArrays = std::vector<std::shared_ptr<arrow::Array>>;

class ColumnJobs {
 public:
    /// `onOpen`: called without a lock when columns are there to be helped with. Reads of fewer
    /// than `leastValues` values (rows times columns) are over before another thread is awake.
    ColumnJobs(StageCounters& counters, std::function<void()> onOpen, std::int64_t leastValues);

    bool isWorthSharing(std::int64_t rows, std::size_t columns) const {
        return columns > 1 && rows * static_cast<std::int64_t>(columns) >= leastValues_;
    }

    /// A split's columns of one segment. `flightNumber`: the segment's among those in flight, the
    /// foremost has the least, no two alike. `reader` is the caller's; `helper` is used for others'
    /// columns.
    Result<ColumnArrays> read(std::int64_t flightNumber, const dataset::SplitRange& split,
                              const std::vector<std::string>& names, const pages::RowWish& wish,
                              dataset::SplitReader& reader, dataset::SplitReader& helper);

    /// Reads a column of the foremost segment that has one; false: none has.
    bool help(dataset::SplitReader& helper) { return helpBefore(kBehindAll, helper); }
    bool isOpen() const;
    /// A frame was delivered: nobody leaves columns of his own for others' any more.
    void firstIsDelivered();

 private:
    static constexpr std::int64_t kBehindAll = INT64_MAX;
    struct Job;
    using JobPtr = std::shared_ptr<Job>;
    struct Claim {
        JobPtr job;
        std::size_t column = 0;
    };
    Claim claimLocked(const JobPtr& job) MR_REQUIRES(mutex_);
    Claim claim(const JobPtr& job);
    Claim claimBefore(std::int64_t flightNumber);
    bool helpBefore(std::int64_t flightNumber, dataset::SplitReader& helper);
    void work(const Claim& claim, dataset::SplitReader& reader);
    bool isHasty() const;

    StageCounters& counters_;
    const std::function<void()> onOpen_;
    const std::int64_t leastValues_;
    mutable Mutex mutex_;
    CondVar finished_;
    std::map<std::int64_t, JobPtr> jobs_ MR_GUARDED_BY(mutex_);  ///< by flight number
    bool isHasty_ MR_GUARDED_BY(mutex_) = true;                  ///< no frame was delivered yet
};

}  // namespace millrace::segment
