#include "daemon/agent/run/checkpoint_keeper.h"

#include "backend/core/log.h"
#include "daemon/agent/run/run_directory.h"

namespace millrace::agent {

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
        isLooking_ = false;  // the next checkpoint comes by here
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
