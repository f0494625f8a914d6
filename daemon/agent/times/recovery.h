#pragma once
// Recovery: measures the time from an attempt's failure to the next one's first step, for the run's
// history. Used by ActiveRun.
//
// Threads: one owner. Failure: none; a time that was not seen is left out.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/core/clock.h"
#include "backend/engines/engine.h"

namespace millrace::agent {

class Recovery {
 public:
    /// `clock` outlives it.
    explicit Recovery(const Clock& clock) : clock_(clock) {}

    /// Call when part of the attempt stands still since `sinceMs` (UTC; 0: not known), or when its
    /// gang ends. The first call counts.
    void noticed(std::int64_t sinceMs);
    void look(const engines::State& gang);
    /// Call when the attempt failed after step `lastStep` and another one follows.
    void failed(std::int64_t lastStep);
    /// Call when the next attempt's workers are started, even if it follows no failure.
    void placed();
    /// Call when its rank 0 has sent hello.
    void loaded() { note(loadedNs_); }
    /// Call when its rank 0 is at `step`, having resumed after `resumeStep`. Returns the sentences
    /// for the history, once; empty if nothing failed before.
    std::vector<std::string> reached(std::int64_t step, std::int64_t resumeStep);

 private:
    void clear();
    void note(std::int64_t& ns) const;

    const Clock& clock_;
    std::int64_t noticedNs_ = 0, placedNs_ = 0, loadedNs_ = 0;  // 0: not yet
    std::int64_t unnoticedMs_ = 0;  // time until it was noticed; 0: not known
    std::optional<std::int64_t> lastStep_;
};

}  // namespace millrace::agent
