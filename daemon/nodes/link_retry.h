#pragma once
// LinkRetry: when an agent calls its head again, and whether the head will ever take it in.
//
// Threads: one owner. Failure: none; each reason is logged once.
#include <cstdint>
#include <string>

#include "backend/core/clock.h"
#include "backend/core/status.h"

namespace millrace::nodes {

/// Whether an agent that failed so would fail so again: another token, build or name, a file that
/// it may not read.
bool isRefusal(const Status& why);

class LinkRetry {
 public:
    /// `clock` outlives it.
    explicit LinkRetry(const Clock& clock) : clock_(clock) {}

    bool isDue() const { return clock_.steadyNs() >= nextNs_; }
    /// Why the head does not take this agent in, once it has refused it again and again for 10 s;
    /// OK: it may.
    Status refusal() const { return isFinal_ ? refused_ : okStatus(); }
    /// A call failed, or its connection ended. The next is due later each time.
    void failed(const Status& why);
    /// The head has answered.
    void heard();

 private:
    const Clock& clock_;
    std::string told_;  ///< the last reason logged
    std::int64_t backoffNs_ = 0, nextNs_ = 0;
    Status refused_ = okStatus();
    std::int64_t refusedNs_ = 0;  ///< since when it is refused
    bool isFinal_ = false;
};

}  // namespace millrace::nodes
