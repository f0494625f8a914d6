#pragma once
// CheckpointKeeper: removes a run's old checkpoints as new ones come in, one look at a time.
//
// Threads: one owner (the controller's); the looks are done on a side thread. Failure: logged; the
// next checkpoint tries again.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "backend/core/status.h"
#include "daemon/agent/run/workplace.h"

namespace millrace::agent {

class CheckpointKeeper {
 public:
    /// Calls kept() of this object, on the owner's thread, if it is still there.
    using Reply = std::function<void(const Status&)>;

    /// `place` outlives it; `keep` <= 0: all stay.
    CheckpointKeeper(Workplace& place, std::string runId, std::int64_t keep)
        : place_(place), runId_(std::move(runId)), keep_(keep) {}

    /// Of those in the store, of the attempt; 0: none.
    std::int64_t newestStep(int attempt) const;
    /// Whether the newest one in the store is of this step or a later one.
    bool hasFrom(std::int64_t step) const;
    /// A checkpoint has come in. What comes during a look is seen by the next.
    void look(const Reply& reply);
    /// The same, where a node hands them over: what is on its way now.
    void look(const std::optional<values::HandOver>& handOver, const Reply& reply);
    /// A look is over.
    void kept(const Status& status, const Reply& reply);
    /// Renames what the newest attempt has left behind, with an event for each.
    void setVoidAside();

 private:
    Workplace& place_;
    const std::string runId_;
    const std::int64_t keep_;
    bool isLooking_ = false, isDue_ = false;
    std::int64_t comingStep_ = 0;  ///< of what is handed over; 0: nothing is
};

}  // namespace millrace::agent
