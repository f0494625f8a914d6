#include "daemon/agent/run/checkpoints/checkpoint_keeper.h"

#include <algorithm>
#include <utility>

#include "backend/core/log.h"
#include "daemon/agent/run/run_directory.h"

namespace millrace::agent {

std::int64_t CheckpointKeeper::newestStep(int attempt) const {
    const auto checkpoints = place_.store.checkpoints(runId_);
    std::int64_t newest = 0;
    for (std::size_t i = 0; checkpoints.ok() && i < checkpoints->size(); ++i) {
        const runs::CheckpointRecord& one = (*checkpoints)[i];
        newest = one.attempt == attempt ? std::max(newest, one.step) : newest;
    }
    return newest;
}

bool CheckpointKeeper::hasFrom(std::int64_t step) const {
    const auto checkpoints = place_.store.checkpoints(runId_);
    return checkpoints.ok() && !checkpoints->empty() && checkpoints->front().step >= step;
}

void CheckpointKeeper::look(const Reply& reply) {
    if (isLooking_ || keep_ <= 0) {
        isDue_ = isLooking_;
        return;
    }
    isDue_ = false;
    isLooking_ = true;
    const auto retain = [&place = place_, id = runId_, keep = keep_,
                         reply](const auto&) -> SideThread::Then {
        return [reply, status = place.checkpoints.retain(id, keep)] { reply(status); };
    };
    if (!place_.side.run(retain)) {
        isLooking_ = false;  // the next checkpoint calls this again
    }
}

void CheckpointKeeper::look(const std::optional<values::HandOver>& handOver, const Reply& reply) {
    const std::int64_t step = handOver.has_value() ? handOver->step : 0;
    if (std::exchange(comingStep_, step) != step) {
        look(reply);
    }
}

void CheckpointKeeper::kept(const Status& status, const Reply& reply) {
    isLooking_ = false;
    if (!status.ok()) {
        logWarn("run: old checkpoints stay", {{"run", runId_}, {"why", messageOf(status)}});
    }
    if (isDue_) {
        look(reply);
    }
}

void CheckpointKeeper::setVoidAside() {
    (void)place_.side.run([&place = place_, id = runId_](const auto&) -> SideThread::Then {
        const std::vector<std::string> events = place.checkpoints.setVoidAside(id);
        return [&place, id, events] {
            for (const std::string& event : events) {
                RunDirectory(place.runsDir, id).addEvent({place.clock.wallMs(), event});
            }
        };
    });
}

}  // namespace millrace::agent
