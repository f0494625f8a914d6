// The part of RunController that reads the queue and starts the runs that are next.
#include <algorithm>

#include "backend/core/log.h"
#include "daemon/agent/run_controller.h"

namespace millrace::agent {
namespace {

constexpr std::int64_t kQueueRetryNs = 1'000 * kNsPerMs;
// Pause between looks whether the nodes that a run waits for have attached.
constexpr std::int64_t kNodesRetryNs = 500 * kNsPerMs;
// Most specs kept of runs that have left the queue.
constexpr std::size_t kMostStaleSpecs = 100;

}  // namespace

Result<SharedSpec> RunController::specOf(const std::string& id) {
    SharedSpec spec = specs_.contains(id) ? specs_.at(id) : nullptr;
    if (spec == nullptr) {
        ASSIGN_OR_RETURN(const runs::RunRecord run, parts_.store.get(id));
        ASSIGN_OR_RETURN(spec, readSpec(run.resolvedSpec));
    }
    RETURN_IF_ERROR(checkStartable(*spec, options_.noTrainer));
    return spec;
}

// The store has the queue; only what was read of the specs is kept from look to look.
Status RunController::readQueue() {
    ASSIGN_OR_RETURN(const auto stored, parts_.store.waiting());
    queue_.clear();
    unreadNs_ = 0;
    if (specs_.size() > 2 * stored.size() + kMostStaleSpecs) {
        specs_.clear();
    }
    for (const runs::RunStore::WaitingRun& run : stored) {
        if (active(run.id) != nullptr) {
            continue;  // its first attempt is not in the store yet
        }
        const Result<SharedSpec> known = specOf(run.id);
        if (absl::IsInvalidArgument(known.status())) {
            (void)refuse(run.id, std::string(messageOf(known.status())));
            continue;
        }
        if (!known.ok()) {
            noteUnread(run.id, known.status());
            continue;  // a damaged run does not hold back others
        }
        specs_.emplace(run.id, *known);
        queue_.push_back({run.id, run.resumeFrom});
    }
    return okStatus();
}

void RunController::noteUnread(const std::string& id, const Status& why) {
    values::RunLive live = parts_.live.get(id);
    const std::string reason = reasonToWait(why);
    if (live.queuedReason != reason) {
        logWarn("queue: run not started", {{"run", id}, {"why", messageOf(why)}});
    }
    live.queuedReason = reason;
    parts_.live.set(id, live);
    unreadNs_ = parts_.clock.steadyNs() + kUnreadRetryNs;
}

void RunController::showReasons(const std::vector<schedule::Waiting>& waiting) {
    for (const auto& [id, reason] : waiting) {
        values::RunLive live = parts_.live.get(id);
        live.queuedReason = reason;
        parts_.live.set(id, live);
    }
}

schedule::Decision RunController::decide() const {
    std::vector<schedule::Job> queue, taking;
    for (const auto& [id, run] : active_) {
        if (auto parts = run->partsToPlace(); !parts.empty()) {
            taking.push_back({id, std::move(parts)});
        }
    }
    for (const Waiting& waiting : queue_) {
        queue.push_back({waiting.id, partsOf(*specs_.at(waiting.id), place_.trainsHere())});
    }
    return schedule::decide(queue, taking, allOf(parts_.nodes));
}

Status RunController::refuse(const std::string& id, const std::string& reason) {
    const Status status =
        parts_.store.setState(id, {values::RunState::kFailed, strCat("refused: ", reason), 0});
    if (!status.ok()) {
        noteUnread(id, status);
        return status;
    }
    logWarn("queue: run refused", {{"run", id}, {"why", reason}});
    RunDirectory(options_.runsDir, id).addEvent({parts_.clock.wallMs(), "refused: " + reason});
    parts_.live.erase(id);
    return okStatus();
}

void RunController::startWaiting() {
    if (const Status status = readQueue(); !status.ok()) {
        queueTrouble_ = strCat("queue: ", messageOf(status));
        queueRetryNs_ = parts_.clock.steadyNs() + kQueueRetryNs;
        return;
    }
    queueTrouble_.clear();
    isQueueChanged_ = false;
    if (isDown_ || queue_.empty()) {
        return;
    }
    const schedule::Decision decision = decide();
    const auto take = [this](const std::string& id) {
        const auto found = std::find_if(queue_.begin(), queue_.end(),
                                        [&](const Waiting& w) { return w.id == id; });
        Waiting waiting = *found;
        queue_.erase(found);
        return waiting;
    };
    for (const schedule::Waiting& never : decision.neverFits) {
        take(never.id);
        (void)refuse(never.id, never.reason);
    }
    for (const std::string& id : decision.start) {
        startOne(take(id));
    }
    showReasons(decision.waiting);
    showReasons(decision.lacksNodes);
    const bool mayNodesChange = !decision.waiting.empty() && !parts_.nodes.standings().empty();
    if (mayNodesChange || !decision.lacksNodes.empty()) {
        unreadNs_ = parts_.clock.steadyNs() + kNodesRetryNs;
    }
}

void RunController::startOne(const Waiting& waiting) {
    Result<runs::RunRecord> run = parts_.store.get(waiting.id);
    if (!run.ok()) {
        return noteUnread(waiting.id, run.status());
    }
    run->specText.clear();
    auto& one = active_[waiting.id];
    one = std::make_unique<ActiveRun>(place_, std::move(*run), specs_.extract(waiting.id).mapped());
    one->launch(waiting.fromStep);
}

}  // namespace millrace::agent
