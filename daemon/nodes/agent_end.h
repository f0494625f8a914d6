#pragma once
// AgentEnd: when an agent ends, and why: it leaves with its allocation, its head is gone for the
// lease of a bound one, the head ends it, or will never take it in.
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
    /// What decides, at one look.
    struct View {
        bool isOpen = false;   ///< its connection to the head
        bool areOver = false;  ///< all gangs have ended
        bool isTold = false;   ///< and the head has heard so, or nobody waits for that
        Status refusal = okStatus();
    };

    /// `config` and `clock` outlive it; `end` is called once, from the owner's thread.
    AgentEnd(const config::DaemonConfig& config, const Clock& clock, std::function<void()> end)
        : config_(config), clock_(clock), end_(std::move(end)), aloneNs_(clock.steadyNs()) {}

    void askToLeave();
    bool isOver() const;
    Status failure() const;

    /// It calls the head, which has not answered yet; the head has said something.
    void calls() { isAttached_ = false; }
    void heard() { isAttached_ = true; }
    /// All workers are to end, by the head's word.
    void endAll() { isEnding_ = true; }
    /// Whether all workers are to end, whoever said so: nothing is started any more.
    bool isEnding() const { return isEnding_; }
    bool isLeaving() const { return leaveByNs_ != 0; }
    /// Of one that leaves: until it ends what is left, ms.
    std::int64_t leaveMs() const;
    /// Why all workers are to end from now on, once; or nothing. The agent may be over behind it.
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
    std::int64_t aloneNs_ = 0;    ///< since when it has not
    std::int64_t leaveByNs_ = 0;  ///< it leaves, and ends all by then; 0: it stays
    Status leaseOver_ = okStatus();
    mutable Mutex mutex_;
    bool isLeaveAsked_ MR_GUARDED_BY(mutex_) = false;
    bool isOver_ MR_GUARDED_BY(mutex_) = false;
    Status failure_ MR_GUARDED_BY(mutex_) = okStatus();
};

}  // namespace millrace::nodes
