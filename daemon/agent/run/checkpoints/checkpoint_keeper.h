#pragma once
// CheckpointKeeper: removes a run's old checkpoints as new ones arrive, in one pass at a time. Used
// by ActiveRun.
//
// Threads: one owner (the controller's); the passes run on a side thread. Failure: logged; the next
// checkpoint retries.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "backend/core/status.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

class CheckpointKeeper {
 public:
    /// Calls kept() of this object on the owner's thread, if the object still exists.
    using Reply = std::function<void(const Status&)>;

    /// `place` outlives it; `keep` <= 0: all stay.
    CheckpointKeeper(Workplace& place, std::string runId, std::int64_t keep)
        : place_(place), runId_(std::move(runId)), keep_(keep) {}

    /// The newest step of the attempt's checkpoints in the store; 0: there is none.
    std::int64_t newestStep(int attempt) const;
    /// Whether the newest checkpoint in the store is of this step or a later one.
    bool hasFrom(std::int64_t step) const;
    /// Call when a checkpoint has arrived. One that arrives during a pass is covered by the next
    /// pass.
    void look(const Reply& reply);
    /// The same if a node hands checkpoints over: `handOver` is what is being sent now.
    void look(const std::optional<values::HandOver>& handOver, const Reply& reply);
    /// Call when a pass is over.
    void kept(const Status& status, const Reply& reply);
    /// Renames what the newest attempt has left behind, with an event for each.
    void setVoidAside();

 private:
    Workplace& place_;
    const std::string runId_;
    const std::int64_t keep_;
    bool isLooking_ = false, isDue_ = false;
    std::int64_t comingStep_ = 0;  ///< step that is being handed over; 0: none
};

}  // namespace millrace::agent
