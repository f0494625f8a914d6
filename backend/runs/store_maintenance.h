#pragma once
// StoreMaintenance: frees the space of deleted runs, and checks for damage.
//
// Threads: any. Failure: as of RunStore.
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/status.h"
#include "backend/runs/run_record.h"
#include "backend/values/daemon_info.h"

namespace millrace::runs {

class StoreFile;

/// Limit on the damages that a check reports.
inline constexpr int kDamageMax = 20;

class StoreMaintenance {
 public:
    explicit StoreMaintenance(StoreFile& file) : file_(file) {}

    /// Drops a deleted run's points, plan and checkpoints for good; its description (spec, tags,
    /// note, newest values, receipt) stays. The caller removes its files. Idempotent.
    Status purge(std::string_view id);
    /// Adds to the time that daemons have run over this store.
    Status addRunningTime(std::int64_t ms);
    /// Runs that were deleted before `ms`, are not purged, and since whose deletion daemons have
    /// run over this store for `runningMs`. A wrong clock therefore does not purge runs too early.
    Result<std::vector<std::string>> deletedBefore(std::int64_t ms, std::int64_t runningMs) const;
    /// Among `ids`, those of purged runs.
    Result<std::vector<std::string>> purgedAmong(const std::vector<std::string>& ids) const;
    /// Checks for damage over a connection of its own, so that no other call waits for it. Skips
    /// the indexes' content unless `isWhole`. Ends with kDeadlineExceeded once `isUnwanted`, which
    /// is called every few milliseconds, on this thread and on another one.
    Result<values::StoreCheck> check(bool isWhole, const std::function<bool()>& isUnwanted) const;

 private:
    StoreFile& file_;
};

}  // namespace millrace::runs
