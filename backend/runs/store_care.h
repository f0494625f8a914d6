#pragma once
// StoreCare: frees what deleted runs take, and looks for damage.
//
// Threads: any. Failure: as of RunStore.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"
#include "backend/values/daemon_facts.h"

namespace millrace::runs {

class StoreFile;

/// Damage that a look for it names.
inline constexpr int kDamageMax = 20;

class StoreCare {
 public:
    explicit StoreCare(StoreFile& file) : file_(file) {}

    /// Drops a deleted run's points, plan and checkpoints for good; what it was (spec, tags, note,
    /// newest values, receipt) stays. Its files are the caller's. Twice is the same as once.
    Status purge(std::string_view id);
    /// Adds to the time that daemons have run over this store.
    Status addRunningTime(std::int64_t ms);
    /// Runs that were deleted before `ms` and not purged, and since then daemons have run over this
    /// store for `runningMs`: a clock that is wrong makes nobody late.
    Result<std::vector<std::string>> deletedBefore(std::int64_t ms, std::int64_t runningMs) const;
    /// Among `ids`, those of purged runs.
    Result<std::vector<std::string>> purgedAmong(const std::vector<std::string>& ids) const;
    /// Looks for damage over a connection of its own, so that nobody waits for it; without the
    /// indexes' content unless `isWhole`. Ends when `isUnwanted` (asked every few milliseconds,
    /// from this thread and from another one): then kDeadlineExceeded.
    Result<values::StoreCheck> check(bool isWhole, const std::function<bool()>& isUnwanted) const;

 private:
    StoreFile& file_;
};

}  // namespace millrace::runs
