#include "daemon/nodes/agent_end.h"

#include <algorithm>
#include <utility>

#include "backend/core/log.h"
#include "backend/text/text.h"

namespace millrace::nodes {
namespace {

constexpr std::int64_t kNsPerMs = 1'000'000;
// For the rest of the logs and the last reports of an agent that leaves.
constexpr std::int64_t kLastWordsNs = 5'000 * kNsPerMs;

}  // namespace

void AgentEnd::askToLeave() {
    MutexLock lock(mutex_);
    isLeaveAsked_ = true;
}

bool AgentEnd::isOver() const {
    MutexLock lock(mutex_);
    return isOver_;
}

Status AgentEnd::failure() const {
    MutexLock lock(mutex_);
    return failure_;
}

void AgentEnd::finish(const Status& why) {
    {
        MutexLock lock(mutex_);
        if (std::exchange(isOver_, true)) {
            return;
        }
        failure_ = why;
    }
    end_();
}

std::int64_t AgentEnd::leaveMs() const {
    return std::max<std::int64_t>(0, leaveByNs_ - clock_.steadyNs()) / kNsPerMs;
}

std::optional<std::string> AgentEnd::look(const View& view) {
    std::optional<std::string> why = lookAtLease(view);
    if (const auto late = lookAtLeave(view); late.has_value() && !why.has_value()) {
        why = late;
    }
    if (isEnding_ && !isLeaving() && view.isTold) {
        finish(leaseOver_);
    }
    if (!view.refusal.ok()) {
        finish(view.refusal);
    }
    return why.has_value() && !std::exchange(isEnding_, true) ? why : std::nullopt;
}

// Checks the lease, which is longer than a restart of the head takes.
std::optional<std::string> AgentEnd::lookAtLease(const View& view) {
    const std::int64_t now = clock_.steadyNs();
    if (!config_.isBound || config_.lease.count() == 0 || (isAttached_ && view.isOpen)) {
        aloneNs_ = now;
        return std::nullopt;
    }
    if (now - aloneNs_ < config_.lease.count() * kNsPerMs || !leaseOver_.ok()) {
        return std::nullopt;
    }
    leaseOver_ = unavailable("no head for ", static_cast<double>(config_.lease.count()) / 1'000.0,
                             " s (--lease): the agent ends with its workers");
    return std::string(messageOf(leaseOver_));
}

// The head ends what is here and starts it elsewhere. What it has not ended in time ends anyway.
std::optional<std::string> AgentEnd::lookAtLeave(const View& view) {
    const std::int64_t now = clock_.steadyNs();
    {
        MutexLock lock(mutex_);
        if (isLeaveAsked_ && leaveByNs_ == 0) {
            leaveByNs_ = now + config_.leaveGrace.count() * kNsPerMs;
            logInfo("slot: leaves", {{"grace_ms", config_.leaveGrace.count()}});
        }
    }
    if (!isLeaving()) {
        return std::nullopt;
    }
    // The head closes the connection after the agent's last report.
    const bool isAlone = !isAttached_ || !view.isOpen;
    if ((isAlone && view.areOver) || now >= leaveByNs_ + kLastWordsNs) {
        finish(okStatus());
    }
    return now >= leaveByNs_ ? std::optional<std::string>(
                                   "its agent was told to end, and the time for that is over")
                             : std::nullopt;
}

}  // namespace millrace::nodes
