#pragma once
// Recovery: how long it took from an attempt's failure to the next one's first step, for the run's
// history.
//
// Threads: one owner. Failure: none; what was not seen is left out.
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

    /// Something of the attempt stands still since `sinceMs` (UTC; 0: not known), or its gang ends.
    /// The first word counts.
    void noticed(std::int64_t sinceMs);
    void look(const engines::State& gang);
    /// The attempt failed after step `lastStep`; another one follows.
    void failed(std::int64_t lastStep);
    /// The next one's workers are started; also of one that follows no failure.
    void placed();
    /// Its rank 0 has said hello.
    void loaded() { note(loadedNs_); }
    /// Its rank 0 is at `step`, having gone on after `resumeStep`. What to say, once; nothing when
    /// nothing failed before.
    std::vector<std::string> reached(std::int64_t step, std::int64_t resumeStep);

 private:
    void clear();
    void note(std::int64_t& ns) const;

    const Clock& clock_;
    std::int64_t noticedNs_ = 0, placedNs_ = 0, loadedNs_ = 0;  // 0: not yet
    std::int64_t unnoticedMs_ = 0;  // how long it took until it was; 0: not known
    std::optional<std::int64_t> lastStep_;
};

}  // namespace millrace::agent
