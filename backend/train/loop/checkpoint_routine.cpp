#include "backend/train/loop/checkpoint_routine.h"

#include <algorithm>
#include <utility>

#include "backend/core/log.h"

namespace millrace::train {

// The daemon removes old files once it has stored newer ones. While it does not answer, all files
// stay, and each further one doubles the distance to the next. The number of files then grows with
// the logarithm of the time, and a crash loses at most half of the time without a daemon.
bool CheckpointRoutine::isDue(std::int64_t step, bool isThinned) const {
    constexpr std::int64_t kOnTheirWay = 2;  // between a write and its acknowledgement
    const std::int64_t every = options_.everySteps;
    if (every == 0 || step % every != 0) {
        return false;
    }
    const std::int64_t waiting = isThinned ? reporter_.unackedCheckpoints() : 0;
    const std::int64_t tooMany = waiting - options_.keep - kOnTheirWay;
    const std::int64_t doublings = std::clamp<std::int64_t>(tooMany, 0, 62);
    return doublings == 0 || (step - lastStep_) >> doublings >= every;
}

Status CheckpointRoutine::cut(CheckpointOrder order, const std::vector<TensorRef>& tensors,
                              bool isNeeded) {
    if (options_.isCopied && !isNeeded) {
        writer_.begin(std::move(order), tensors);
        return okStatus();
    }
    const CheckpointWriter::Outcome outcome = CheckpointWriter::write(std::move(order), tensors);
    RETURN_IF_ERROR(tell(outcome));
    return isNeeded ? outcome.file.status() : okStatus();
}

Status CheckpointRoutine::settle(bool waits) {
    const auto ended = waits ? writer_.wait() : writer_.takeEnded();
    return ended ? tell(*ended) : okStatus();
}

// If the checkpoint could not be written, training continues and the older checkpoints stay.
Status CheckpointRoutine::tell(const CheckpointWriter::Outcome& outcome) {
    const std::int64_t step = outcome.order.name.step;
    if (!outcome.file.ok()) {
        const std::string_view why = messageOf(outcome.file.status());
        logError("train: no checkpoint of this step", {{"step", step}, {"error", why}});
        reporter_.setTrouble("checkpoint",
                             strCat("the checkpoint of step ", step, " was not written: ", why));
        return okStatus();
    }
    reporter_.setTrouble("checkpoint", "");
    const CheckpointFile& file = *outcome.file;
    return reporter_.send(
        rank::Checkpoint{step, file.name, file.bytes, file.hash, outcome.order.state});
}

}  // namespace millrace::train
