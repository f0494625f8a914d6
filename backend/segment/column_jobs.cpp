#include "backend/segment/column_jobs.h"

#include <utility>

namespace millrace::segment {

/// `next` and `running` belong to the lock; an array to the thread that claimed its column until
/// `running` no longer counts it. `wish` is the owner's, who waits until nothing runs.
struct ColumnJobs::Job {
    dataset::SplitRange split;
    const std::vector<std::string>& names;
    const pages::RowWish& wish;
    std::vector<Result<std::shared_ptr<arrow::Array>>> arrays;
    std::size_t next = 0, running = 0;

    Job(const dataset::SplitRange& range, const std::vector<std::string>& columns,
        const pages::RowWish& rows)
        : split(range),
          names(columns),
          wish(rows),
          arrays(columns.size(), Result<std::shared_ptr<arrow::Array>>(nullptr)) {}
};

ColumnJobs::ColumnJobs(StageCounters& counters, std::function<void()> onOpen,
                       std::int64_t leastValues)
    : counters_(counters), onOpen_(std::move(onOpen)), leastValues_(leastValues) {}

bool ColumnJobs::isOpen() const {
    MutexLock lock(mutex_);
    for (const auto& [flightNumber, job] : jobs_) {
        if (job->next < job->names.size()) {
            return true;
        }
    }
    return false;
}

void ColumnJobs::firstIsDelivered() {
    MutexLock lock(mutex_);
    isHasty_ = false;
}

bool ColumnJobs::isHasty() const {
    MutexLock lock(mutex_);
    return isHasty_;
}

ColumnJobs::Claim ColumnJobs::claimLocked(const JobPtr& job) {
    if (job->next >= job->names.size()) {
        return {};
    }
    ++job->running;
    return {job, job->next++};
}

ColumnJobs::Claim ColumnJobs::claim(const JobPtr& job) {
    MutexLock lock(mutex_);
    return claimLocked(job);
}

ColumnJobs::Claim ColumnJobs::claimBefore(std::int64_t flightNumber) {
    MutexLock lock(mutex_);
    for (const auto& [number, job] : jobs_) {
        if (number >= flightNumber) {
            break;
        }
        if (Claim found = claimLocked(job); found.job != nullptr) {
            return found;
        }
    }
    return {};
}

// Columns are claimed in their order: when one fails, all before it are read or being read, so
// which failure is told does not depend on the threads.
void ColumnJobs::work(const Claim& claim, dataset::SplitReader& reader) {
    Job& job = *claim.job;
    const std::int64_t before = reader.bytesRead();
    Result<ColumnArrays> read = reader.readRows(job.split, {job.names[claim.column]}, job.wish);
    counters_.addReads(reader.takeCosts(), job.split.rows);
    counters_.add(Stage::kRead, 0, 0, reader.bytesRead() - before);
    const bool isRead = read.ok();
    if (isRead) {
        job.arrays[claim.column] = std::move(read->front());
    } else {
        job.arrays[claim.column] = read.status();
    }
    MutexLock lock(mutex_);
    if (!isRead) {
        job.next = job.names.size();
    }
    if (--job.running == 0) {
        finished_.notifyAll();
    }
}

bool ColumnJobs::helpBefore(std::int64_t flightNumber, dataset::SplitReader& helper) {
    const Claim found = claimBefore(flightNumber);
    if (found.job == nullptr) {
        return false;
    }
    work(found, helper);
    return true;
}

Result<ColumnArrays> ColumnJobs::read(std::int64_t flightNumber, const dataset::SplitRange& split,
                                      const std::vector<std::string>& names,
                                      const pages::RowWish& wish, dataset::SplitReader& reader,
                                      dataset::SplitReader& helper) {
    const auto job = std::make_shared<Job>(split, names, wish);
    {
        MutexLock lock(mutex_);
        const bool isNew = jobs_.emplace(flightNumber, job).second;
        INVARIANT(isNew, "a segment reads one split at a time");
    }
    onOpen_();
    reader.keepMemory(true);
    for (;;) {
        while (isHasty() && helpBefore(flightNumber, helper)) {
        }
        const Claim own = claim(job);
        if (own.job == nullptr) {
            break;
        }
        work(own, reader);
    }
    reader.keepMemory(false);
    {
        MutexLock lock(mutex_);
        jobs_.erase(flightNumber);
        while (job->running > 0) {
            finished_.wait(mutex_);
        }
    }
    ColumnArrays arrays;
    arrays.reserve(names.size());
    for (Result<std::shared_ptr<arrow::Array>>& array : job->arrays) {
        RETURN_IF_ERROR(array.status());
        arrays.push_back(*std::move(array));
    }
    return arrays;
}

}  // namespace millrace::segment
