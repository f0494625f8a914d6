#include "backend/segment/column_jobs.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

namespace millrace::segment {

/// `next` and `running` belong to the lock; an array to the thread that claimed its unit until
/// `running` no longer counts it. What is referred to is the owner's, who waits until nothing runs.
struct ColumnJobs::Job {
    struct Columns {
        const dataset::SplitRange& split;
        const std::vector<std::string>& names;
        const pages::RowWish& wish;
        std::vector<Unit> order;                                    ///< in which they are claimed
        std::vector<Result<std::shared_ptr<arrow::Array>>> arrays;  ///< null: not read
    };
    std::optional<Columns> columns;   ///< else pieces
    const PieceWork* work = nullptr;  ///< of pieces
    std::size_t units = 0, next = 0, running = 0;
};

ColumnJobs::ColumnJobs(StageCounters& counters, std::function<void()> onOpen,
                       std::int64_t leastValues, std::int64_t pieceRows)
    : counters_(counters),
      onOpen_(std::move(onOpen)),
      leastValues_(leastValues),
      pieceRows_(pieceRows) {}

bool ColumnJobs::isOpen() const {
    MutexLock lock(mutex_);
    return std::any_of(jobs_.begin(), jobs_.end(),
                       [](const auto& job) { return job.second->next < job.second->units; });
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
    if (job->next >= job->units) {
        return {};
    }
    ++job->running;
    return {job, job->next++};
}

ColumnJobs::Claim ColumnJobs::claim(const JobPtr& job) {
    MutexLock lock(mutex_);
    return claimLocked(job);
}

ColumnJobs::Claim ColumnJobs::claimBefore(const Place& place, bool takesPieces) {
    MutexLock lock(mutex_);
    for (const auto& [at, job] : jobs_) {
        if (at >= place) {
            break;
        }
        if (!takesPieces && at.second == Kind::kPieces) {
            continue;
        }
        if (Claim found = claimLocked(job); found.job != nullptr) {
            return found;
        }
    }
    return {};
}

// Of several that fail together each is read again by who looks for the first that fails.
bool ColumnJobs::readUnit(Job& job, const Unit& unit, dataset::SplitReader& reader) {
    Job::Columns& columns = *job.columns;
    std::vector<std::string> names;
    for (const std::size_t column : unit) {
        names.push_back(columns.names[column]);
    }
    const std::int64_t before = reader.bytesRead();
    Result<ColumnArrays> read = reader.readRows(columns.split, names, columns.wish);
    const std::vector<dataset::ColumnCost> costs = reader.takeCosts();
    counters_.addReads(costs, columns.split.rows);
    counters_.add(Stage::kRead, 0, 0, reader.bytesRead() - before);
    if (!read.ok()) {
        if (unit.size() == 1) {
            columns.arrays[unit[0]] = read.status();
        }
        return false;
    }
    for (std::size_t i = 0; i < unit.size(); ++i) {
        columns.arrays[unit[i]] = std::move((*read)[i]);
    }
    MutexLock lock(mutex_);
    for (const dataset::ColumnCost& cost : costs) {
        lastBytes_[cost.column] = cost.diskBytes;
    }
    return true;
}

// What took most bytes the last time comes first, so that nobody waits for it at the end. What took
// few is claimed with others, as each claim has its price, and in the order of the names: columns
// that are used side by side then lie so in the file's pages and in memory. (300 columns by their
// sizes cost 5 % of a stream's processor time.)
std::vector<ColumnJobs::Unit> ColumnJobs::largestFirst(
    const std::vector<std::string>& names) const {
    constexpr std::int64_t kUnits = 32;  // where all columns are alike
    std::vector<std::int64_t> bytes(names.size());
    {
        MutexLock lock(mutex_);
        for (std::size_t c = 0; c < names.size(); ++c) {
            const auto known = lastBytes_.find(names[c]);
            bytes[c] = known == lastBytes_.end() ? 0 : known->second;
        }
    }
    const std::int64_t enough =
        std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}) / kUnits;
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&bytes, enough](std::size_t a, std::size_t b) {
        return std::max(bytes[a], enough) > std::max(bytes[b], enough);
    });
    std::vector<Unit> units;
    std::int64_t held = enough;
    for (const std::size_t column : order) {
        if (held >= enough || bytes[column] == 0) {
            units.emplace_back();
            held = 0;
        }
        units.back().push_back(column);
        held += bytes[column];
    }
    return units;
}

void ColumnJobs::work(const Claim& claim, const Readers& readers) {
    Job& job = *claim.job;
    bool goesOn = true;
    if (job.columns) {
        goesOn = readUnit(job, job.columns->order[claim.unit], readers.own);
    } else {
        (*job.work)(claim.unit, readers);
    }
    MutexLock lock(mutex_);
    if (!goesOn) {
        job.next = job.units;
    }
    if (--job.running == 0) {
        changed_.notifyAll();
    }
}

// Who reads columns of his own (and takes no pieces) counts the time himself, others' with his.
bool ColumnJobs::helpBefore(const Place& place, dataset::SplitReader& helper, bool takesPieces) {
    const Claim found = claimBefore(place, takesPieces);
    if (found.job == nullptr) {
        return false;
    }
    StageTimer timer(counters_);
    const bool isCounted = takesPieces && found.job->columns.has_value();
    work(found, {helper, helper});
    if (isCounted) {
        timer.stop(Stage::kRead);
    }
    return true;
}

void ColumnJobs::helpUntil(std::int64_t flightNumber, dataset::SplitReader& helper,
                           const std::function<bool()>& isDone) {
    for (;;) {
        Claim found;
        {
            MutexLock lock(mutex_);
            if (isDone()) {
                return;
            }
            const auto job = jobs_.find({flightNumber, Kind::kColumns});
            found = job == jobs_.end() ? Claim() : claimLocked(job->second);
            if (found.job == nullptr) {
                changed_.wait(mutex_);
                continue;
            }
        }
        work(found, {helper, helper});
    }
}

void ColumnJobs::tell() {
    MutexLock lock(mutex_);
    changed_.notifyAll();
}

void ColumnJobs::open(const Place& place, const JobPtr& job) {
    {
        MutexLock lock(mutex_);
        const bool isNew = jobs_.emplace(place, job).second;
        INVARIANT(isNew, "a segment reads one split at a time, and runs its pieces once");
        changed_.notifyAll();
    }
    onOpen_();
}

void ColumnJobs::close(const Place& place, const JobPtr& job) {
    MutexLock lock(mutex_);
    jobs_.erase(place);
    while (job->running > 0) {
        changed_.wait(mutex_);
    }
}

Result<ColumnArrays> ColumnJobs::read(std::int64_t flightNumber, const dataset::SplitRange& split,
                                      const std::vector<std::string>& names,
                                      const pages::RowWish& wish, dataset::SplitReader& reader,
                                      dataset::SplitReader& helper) {
    const auto job = std::make_shared<Job>();
    job->columns.emplace(split, names, wish, largestFirst(names),
                         std::vector<Result<std::shared_ptr<arrow::Array>>>(
                             names.size(), Result<std::shared_ptr<arrow::Array>>(nullptr)));
    job->units = job->columns->order.size();
    const Place place{flightNumber, Kind::kColumns};
    open(place, job);
    reader.keepMemory(true);
    for (;;) {
        // Columns alone: this thread's own are waited for.
        while (isHasty() && helpBefore({flightNumber, Kind::kColumns}, helper, false)) {
        }
        const Claim own = claim(job);
        if (own.job == nullptr) {
            break;
        }
        work(own, {reader, helper});
    }
    reader.keepMemory(false);
    close(place, job);
    // After a failure not all are read: those before it are now, as one of them may fail as well.
    ColumnArrays arrays;
    arrays.reserve(names.size());
    for (std::size_t c = 0; c < names.size(); ++c) {
        Result<std::shared_ptr<arrow::Array>>& array = job->columns->arrays[c];
        if (array.ok() && *array == nullptr) {
            readUnit(*job, {c}, reader);
        }
        RETURN_IF_ERROR(array.status());
        arrays.push_back(*std::move(array));
    }
    return arrays;
}

void ColumnJobs::runPieces(std::int64_t flightNumber, std::size_t count, const PieceWork& work,
                           const Readers& readers) {
    const auto job = std::make_shared<Job>();
    job->work = &work;
    job->units = count;
    const Place place{flightNumber, Kind::kPieces};
    open(place, job);
    for (;;) {
        while (isHasty() && helpBefore({flightNumber, Kind::kColumns}, readers.others, true)) {
        }
        const Claim own = claim(job);
        if (own.job == nullptr) {
            break;
        }
        this->work(own, readers);
    }
    close(place, job);
}

}  // namespace millrace::segment
