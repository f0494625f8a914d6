#pragma once
// LinkRetry: decides when an agent calls its head again, and whether the head will ever accept it.
// Used by HeadLink.
//
// Threads: one owner. Failure: none; each reason is logged once.
#include <cstdint>
#include <string>

#include "backend/core/clock.h"
#include "backend/core/status.h"

namespace millrace::nodes {

/// Returns whether this failure would repeat: a wrong token, build or name, or a file that the
/// agent may not read.
bool isRefusal(const Status& why);

class LinkRetry {
 public:
    /// `clock` outlives it.
    explicit LinkRetry(const Clock& clock) : clock_(clock) {}

    bool isDue() const { return clock_.steadyNs() >= nextNs_; }
    /// Returns why the head does not accept this agent, once it has refused it for 10 s; OK: it may
    /// accept it.
    Status refusal() const { return isFinal_ ? refused_ : okStatus(); }
    /// Call when a call failed, or its connection ended. The pause before the next call grows each
    /// time.
    void failed(const Status& why);
    /// Call when the head has answered.
    void heard();

 private:
    const Clock& clock_;
    std::string told_;  ///< the last reason logged
    std::int64_t backoffNs_ = 0, nextNs_ = 0;
    Status refused_ = okStatus();
    std::int64_t refusedNs_ = 0;  ///< when the refusals began
    bool isFinal_ = false;
};

}  // namespace millrace::nodes
