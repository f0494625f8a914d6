#include "backend/segment/work_stealing.h"

#include <iterator>
#include <numeric>
#include <utility>

namespace millrace::segment {

/// The lock guards `next` and `running`. An array belongs to the thread that claimed its unit until
/// `running` no longer counts that thread. References point to the owner, which waits until no
/// thread runs a unit.
struct WorkStealing::Job {
    struct Columns {
        const dataset::SplitRange& split;
        const std::vector<std::string>& names;
        const pages::RowSelection& selection;
        std::vector<Unit> order;                                    ///< in which units are claimed
        std::vector<Result<std::shared_ptr<arrow::Array>>> arrays;  ///< null: not read
        std::vector<std::int64_t> bytes;                            ///< read from the file
    };
    Place place;
    std::optional<Columns> columns = {};  ///< set if the place is of columns
    const UnitWork* work = nullptr;       ///< set otherwise
    std::size_t units = 0, next = 0, running = 0;
};

WorkStealing::WorkStealing(StageCounters& counters, std::function<void()> onOpen,
                           std::int64_t leastValues, std::int64_t pieceRows, Stealing stealing)
    : counters_(counters),
      onOpen_(std::move(onOpen)),
      leastValues_(leastValues),
      pieceRows_(pieceRows),
      stealing_(stealing),
      isHasty_(stealing.isHasty) {}

bool WorkStealing::isOpen() const {
    MutexLock lock(mutex_);
    return std::ranges::any_of(jobs_, [this](const auto& job) {
        return mayBeStolen(job.first.kind) && job.second->next < job.second->units;
    });
}

bool WorkStealing::mayBeStolen(Kind kind) const {
    switch (kind) {
        case Kind::kSplits:
            return stealing_.splits;
        case Kind::kColumns:
            return stealing_.columns;
        case Kind::kPieces:
            return stealing_.pieces;
    }
    return false;
}

void WorkStealing::firstIsDelivered() {
    MutexLock lock(mutex_);
    isHasty_ = false;
}

bool WorkStealing::isHasty() const {
    MutexLock lock(mutex_);
    return isHasty_;
}

WorkStealing::Claim WorkStealing::claimLocked(const JobPtr& job) {
    if (job->next >= job->units) {
        return {};
    }
    ++job->running;
    return {job, job->next++};
}

WorkStealing::Claim WorkStealing::claim(const JobPtr& job) {
    MutexLock lock(mutex_);
    return claimLocked(job);
}

WorkStealing::Claim WorkStealing::claimInLocked(const Places& places, Takes takes) {
    for (auto it = jobs_.lower_bound(places.begin); it != jobs_.end() && it->first < places.end;
         ++it) {
        const Kind kind = it->first.kind;
        const bool isTaken = takes == Takes::kAll || kind == Kind::kColumns ||
                             (takes == Takes::kColumnsAndPieces && kind == Kind::kPieces);
        if (!isTaken || !mayBeStolen(kind)) {
            continue;
        }
        if (Claim found = claimLocked(it->second); found.job != nullptr) {
            return found;
        }
    }
    return {};
}

/// Returns nothing if `isDone`. A claim without a job means that something changed: ask again.
std::optional<WorkStealing::Claim> WorkStealing::claimOrWait(const Places& places, Takes takes,
                                                             const std::function<bool()>& isDone) {
    MutexLock lock(mutex_);
    if (isDone()) {
        return std::nullopt;
    }
    Claim found = claimInLocked(places, takes);
    if (found.job == nullptr) {
        changed_.wait(mutex_);
    }
    return found;
}

// If several columns of a unit fail, read() reads each again to find the first that fails.
bool WorkStealing::readUnit(Job& job, const Unit& unit, dataset::SplitReader& reader) {
    Job::Columns& columns = *job.columns;
    std::vector<std::string> names;
    for (const std::size_t column : unit) {
        names.push_back(columns.names[column]);
    }
    const std::int64_t before = reader.bytesRead();
    Result<ColumnArrays> read = reader.readRows(columns.split, names, columns.selection);
    const std::vector<dataset::ColumnCost> costs = reader.takeCosts();
    counters_.addReads(costs, columns.split.rows);
    counters_.add(Stage::kRead, 0, 0, reader.bytesRead() - before);
    if (!read.ok()) {
        if (unit.size() == 1) {
            columns.arrays[unit[0]] = read.status();
        }
        return false;
    }
    std::size_t cost = 0;
    for (std::size_t i = 0; i < unit.size(); ++i) {
        columns.arrays[unit[i]] = std::move((*read)[i]);
        if (cost < costs.size() && costs[cost].column == names[i]) {
            columns.bytes[unit[i]] = costs[cost++].diskBytes;
        }
    }
    return true;
}

std::vector<WorkStealing::LastRead>::iterator WorkStealing::lastReadLocked(
    const std::vector<std::string>& names) {
    return std::ranges::find_if(lastReads_,
                                [&names](const LastRead& read) { return read.names == names; });
}

// A stream requests the same few lists of columns again and again.
void WorkStealing::remember(const std::vector<std::string>& names,
                            std::vector<std::int64_t> bytes) {
    constexpr std::size_t kLists = 16;
    MutexLock lock(mutex_);
    auto known = lastReadLocked(names);
    if (known == lastReads_.end()) {
        if (lastReads_.size() < kLists) {
            lastReads_.emplace_back();
        }
        known = std::prev(lastReads_.end());
        known->names = names;
    }
    known->bytes = std::move(bytes);
    std::rotate(lastReads_.begin(), known, std::next(known));
}

// Columns that took most bytes the last time come first, so that no thread waits for them at the
// end. Small columns are claimed together, as each claim has a cost, and in the order of the names:
// columns that are used together are then adjacent in the file's pages and in memory. (Ordering 300
// columns by size cost 5 % of a stream's processor time.)
std::vector<WorkStealing::Unit> WorkStealing::largestFirst(const std::vector<std::string>& names) {
    constexpr std::int64_t kUnits = 32;  // if all columns are alike
    std::vector<std::int64_t> bytes(names.size());
    {
        MutexLock lock(mutex_);
        if (const auto known = lastReadLocked(names); known != lastReads_.end()) {
            bytes = known->bytes;
        }
    }
    const std::int64_t enough =
        std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}) / kUnits;
    std::vector<std::size_t> order(names.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::stable_sort(order, [&bytes, enough](std::size_t a, std::size_t b) {
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

void WorkStealing::work(const Claim& claim, const Readers& readers) {
    Job& job = *claim.job;
    bool goesOn = true;
    if (job.columns) {
        goesOn = readUnit(job, job.columns->order[claim.unit], readers.own);
    } else {
        goesOn = (*job.work)(claim.unit, readers);
    }
    MutexLock lock(mutex_);
    if (!goesOn) {
        job.next = job.units;
    }
    if (--job.running == 0) {
        changed_.notifyAll();
    }
}

// A thread that reads its own columns (takes == kColumns) measures its own time, including the
// columns that it reads for others.
bool WorkStealing::helpIn(const Places& places, const Readers& readers, Takes takes) {
    Claim found;
    {
        MutexLock lock(mutex_);
        found = claimInLocked(places, takes);
    }
    if (found.job == nullptr) {
        return false;
    }
    if (takes == Takes::kColumns) {
        work(found, {readers.others, readers.others});
    } else {
        helpWith(found, readers);
    }
    return true;
}

// A whole split gets the thread's own reader, which no other thread uses for columns.
void WorkStealing::helpWith(const Claim& claim, const Readers& readers) {
    StageTimer timer(counters_);
    const Kind kind = claim.job->place.kind;
    work(claim, {kind == Kind::kSplits ? readers.own : readers.others, readers.others});
    if (kind == Kind::kColumns) {
        timer.stop(Stage::kRead);
    }
}

void WorkStealing::helpUntil(const SplitPosition& place, dataset::SplitReader& helper,
                             const std::function<bool()>& isDone) {
    const Places columns = {{place.flightNumber, Kind::kColumns, place.split},
                            {place.flightNumber, Kind::kColumns, place.split + 1}};
    while (const std::optional<Claim> found = claimOrWait(columns, Takes::kColumns, isDone)) {
        if (found->job != nullptr) {
            work(*found, {helper, helper});
        }
    }
}

void WorkStealing::tell() {
    MutexLock lock(mutex_);
    changed_.notifyAll();
}

WorkStealing::JobPtr WorkStealing::openUnits(const Place& place, std::size_t count,
                                             const UnitWork& work) {
    const auto job = std::make_shared<Job>(Job{.place = place, .work = &work, .units = count});
    open(job);
    return job;
}

void WorkStealing::open(const JobPtr& job) {
    {
        MutexLock lock(mutex_);
        const bool isNew = jobs_.emplace(job->place, job).second;
        INVARIANT(isNew, "a split is read by one thread, and its pieces are run once");
        changed_.notifyAll();
    }
    onOpen_();
}

void WorkStealing::close(const JobPtr& job) {
    MutexLock lock(mutex_);
    jobs_.erase(job->place);
    while (job->running > 0) {
        changed_.wait(mutex_);
    }
}

Result<ColumnArrays> WorkStealing::read(const SplitPosition& place,
                                        const dataset::SplitRange& split,
                                        const std::vector<std::string>& names,
                                        const pages::RowSelection& selection,
                                        const Readers& readers) {
    dataset::SplitReader& reader = readers.own;
    const auto job =
        std::make_shared<Job>(Job{.place = {place.flightNumber, Kind::kColumns, place.split}});
    job->columns.emplace(split, names, selection, largestFirst(names),
                         std::vector<Result<std::shared_ptr<arrow::Array>>>(
                             names.size(), Result<std::shared_ptr<arrow::Array>>(nullptr)),
                         std::vector<std::int64_t>(names.size()));
    job->units = job->columns->order.size();
    open(job);
    reader.keepMemory(true);
    for (;;) {
        // Steals columns only: other threads may be waiting for this thread's own columns.
        while (isHasty() && helpIn(before(place.flightNumber), readers, Takes::kColumns)) {
        }
        const Claim own = claim(job);
        if (own.job == nullptr) {
            break;
        }
        work(own, readers);
    }
    reader.keepMemory(false);
    close(job);
    // After a failure some columns may be unread. Reads those before it, as one of them may fail
    // too.
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
    remember(names, std::move(job->columns->bytes));
    return arrays;
}

// A thread with no split left of its own helps with the columns and pieces of the others.
void WorkStealing::runSplits(std::int64_t flightNumber, std::size_t count, const UnitWork& work,
                             const Readers& readers) {
    const JobPtr job = openUnits({flightNumber, Kind::kSplits, 0}, count, work);
    for (Claim own = claim(job); own.job != nullptr; own = claim(job)) {
        this->work(own, readers);
    }
    const Places inside = {{flightNumber, Kind::kColumns, 0}, before(flightNumber + 1).end};
    StageTimer timer(counters_);
    while (const std::optional<Claim> found = claimOrWait(inside, Takes::kColumnsAndPieces,
                                                          [&job] { return job->running == 0; })) {
        if (found->job != nullptr) {
            helpWith(*found, readers);
            timer.lap();
        } else {
            timer.waited(Stage::kRead, Wait::kStarved);
        }
    }
    close(job);
}

void WorkStealing::runPieces(const SplitPosition& place, std::size_t count, const UnitWork& work,
                             const Readers& readers) {
    const JobPtr job = openUnits({place.flightNumber, Kind::kPieces, place.split}, count, work);
    for (;;) {
        while (isHasty() && helpIn(before(place.flightNumber), readers, Takes::kColumnsAndPieces)) {
        }
        const Claim own = claim(job);
        if (own.job == nullptr) {
            break;
        }
        this->work(own, readers);
    }
    close(job);
}

}  // namespace millrace::segment
