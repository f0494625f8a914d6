#pragma once
// AgentEnd: decides when an agent ends, and why: it leaves with its allocation, a bound one has had
// no head for its lease, the head ends it, or the head will never accept it. Used by Slot.
//
// Threads: askToLeave(), isOver(), failure() from any; the rest has one owner (the slot's thread).
// Failure: none.
#include <functional>
#include <optional>
#include <string>

#include "backend/core/clock.h"
#include "backend/core/mutex.h"
#include "backend/core/status.h"
#include "daemon/config/daemon_config.h"

namespace millrace::nodes {

class AgentEnd {
 public:
    /// The facts for the decision, at one look.
    struct View {
        bool isOpen = false;   ///< whether its connection to the head is open
        bool areOver = false;  ///< all gangs have ended
        bool isTold = false;   ///< the head knows it, or no head waits for it
        Status refusal = okStatus();
    };

    /// `config` and `clock` outlive it; `end` is called once, from the owner's thread.
    AgentEnd(const config::DaemonConfig& config, const Clock& clock, std::function<void()> end)
        : config_(config), clock_(clock), end_(std::move(end)), aloneNs_(clock.steadyNs()) {}

    void askToLeave();
    bool isOver() const;
    Status failure() const;

    /// The agent calls the head, which has not answered yet; below: the head has sent something.
    void calls() { isAttached_ = false; }
    void heard() { isAttached_ = true; }
    /// The head has ordered all workers to end.
    void endAll() { isEnding_ = true; }
    /// Returns whether all workers must end, for whatever reason: nothing is started any more.
    bool isEnding() const { return isEnding_; }
    bool isLeaving() const { return leaveByNs_ != 0; }
    /// For an agent that leaves: milliseconds until it ends what is left.
    std::int64_t leaveMs() const;
    /// Returns once why all workers must end from now on, else nothing. The agent may be over
    /// afterwards.
    std::optional<std::string> look(const View& view);

 private:
    std::optional<std::string> lookAtLease(const View& view);
    std::optional<std::string> lookAtLeave(const View& view);
    void finish(const Status& why);

    const config::DaemonConfig& config_;
    const Clock& clock_;
    const std::function<void()> end_;
    bool isEnding_ = false;
    bool isAttached_ = false;     ///< the head has answered on this connection
    std::int64_t aloneNs_ = 0;    ///< when it last had the head
    std::int64_t leaveByNs_ = 0;  ///< it leaves, and ends everything by then; 0: it stays
    Status leaseOver_ = okStatus();
    mutable Mutex mutex_;
    bool isLeaveAsked_ MR_GUARDED_BY(mutex_) = false;
    bool isOver_ MR_GUARDED_BY(mutex_) = false;
    Status failure_ MR_GUARDED_BY(mutex_) = okStatus();
};

}  // namespace millrace::nodes
