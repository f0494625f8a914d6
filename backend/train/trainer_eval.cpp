// The trainer's pauses: evaluation and checkpoints.
#include <algorithm>
#include <utility>

#include "backend/core/log.h"
#include "backend/train/evaluator.h"
#include "backend/train/loop/step_figures.h"
#include "backend/train/torch_learner.h"
#include "backend/train/trainer.h"

namespace millrace::train {
Status Trainer::evaluate() {
    const PhaseClock::Scope scope(phases_, &values::PhaseTimes::evaluateMs);
    RETURN_IF_ERROR(progress("evaluating"));
    Evaluator evaluator(options_.eval, options_.learner.heads, *learner_, group_, reporter_);
    ASSIGN_OR_RETURN(std::optional<Evaluator::Result> result,
                     evaluator.run(step_, open_, [this](BatchSource& source) {
                         return nextEvent(source, "evaluating", "evaluating");
                     }));
    if (result) {
        lastEvalStep_ = step_;
        if (isFirst()) {
            for (const auto& [key, value] : result->values) {
                lastValues_[key] = value;
            }
            evalHash_ = result->hash;
            evalState_ = result->state;
            RETURN_IF_ERROR(reporter_.send(
                rank::Metrics{step_, epoch_, rows_, clock_.wallMs(), result->values}));
        }
        RETURN_IF_ERROR(judge(result->values));
    }
    meter_.restart();
    return okStatus();
}

Status Trainer::judge(const rank::Values& figures) {
    if (!early_.isOn()) {
        return okStatus();
    }
    constexpr std::string_view kBest = "best", kEnd = "end";
    std::string_view word;
    if (isFirst()) {
        const auto figure = figures.find(early_.metric());
        if (figure == figures.end()) {
            return invalidArgument("train.early_stop.metric: the evaluation has no ",
                                   early_.metric());
        }
        word = early_.take(step_, figure->second) ? kBest : early_.isDue() ? kEnd : "";
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> told, group_.gather(word));
    endsEarly_ = told[0] == kEnd;
    return told[0] == kBest ? checkpoint(false) : okStatus();
}

Json Trainer::checkpointMeta(const std::string& state) const {
    Json values = Json::object();
    for (const auto& [key, value] : lastValues_) {
        values[key] = jsonNumber(value);
    }
    Json meta{{"identity", options_.identity},
              {"numeric_keys", options_.numericKeys},
              {"rank", group_.rank()},
              {"world_size", group_.size()},
              {"module", options_.module},
              {"rows", rows_},
              {"epoch", epochEnded_ ? epoch_ + 1 : epoch_},
              {"next_micro_batch", epochEnded_ ? 0 : next_},
              {"epoch_micro_batches", epochBatches_},
              {"steps_without_weight", stepsWithoutWeight_},
              {"state", state},
              {"values", std::move(values)},
              {"eval_hash", evalHash_},
              {"eval_state", evalState_},
              {"eval_step", lastEvalStep_},
              {"time", formatTime(clock_.wallMs())},
              {"versions", {{"torch", torchVersion()}}}};
    if (early_.isOn()) {
        meta["early_stop"] = early_.state();
    }
    return meta;
}

Result<CheckpointOrder> Trainer::checkpointOrder() {
    CheckpointOrder order;
    order.directory = options_.checkpoints.directory;
    order.name = {step_, static_cast<int>(options_.attempt)};
    order.meta = checkpointMeta(state_);
    ASSIGN_OR_RETURN(order.meta["unacked"], reporter_.unacked());
    order.state = state_;
    order.isBest = early_.isOn() && early_.bestStep() == step_;
    return order;
}

// A needed checkpoint exists when this returns; others may be written while training continues.
Status Trainer::checkpoint(bool isNeeded) {
    const PhaseClock::Scope scope(phases_, &values::PhaseTimes::checkpointMs);
    checkpoints_.begin(step_);
    RETURN_IF_ERROR(progress("checkpoint"));
    if (source_) {
        ASSIGN_OR_RETURN(state_, source_->state(epoch_, next_));
    }
    const std::int64_t begunNs = clock_.steadyNs();
    RETURN_IF_ERROR(checkpoints_.settle(true));
    RETURN_IF_ERROR(compareWeights());
    if (isFirst()) {
        ASSIGN_OR_RETURN(CheckpointOrder order, checkpointOrder());
        RETURN_IF_ERROR(checkpoints_.cut(std::move(order), learner_->tensors(), isNeeded));
        RETURN_IF_ERROR(step_ == 0
                            ? okStatus()
                            : reporter_.send(rank::Metrics{
                                  step_, epoch_, rows_, clock_.wallMs(),
                                  checkpointFigures(clock_.steadyNs() - begunNs, *learner_)}));
    }
    meter_.restart();
    return isNeeded ? progress("training") : okStatus();
}

Status Trainer::compareWeights() {
    if (group_.size() == 1) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> hashes,
                     group_.gather(weightsHash(learner_->tensors())));
    for (std::size_t r = 1; r < hashes.size(); ++r) {
        if (hashes[r] != hashes[0]) {
            return internalError(
                "step ", step_, ": rank ", r,
                " has other weights than rank 0: a fault of the machine or of this program");
        }
    }
    return okStatus();
}

}  // namespace millrace::train
