// The trainer's pauses: evaluation and checkpoints.
#include <algorithm>
#include <utility>

#include "backend/core/hash.h"
#include "backend/core/log.h"
#include "backend/train/dense_network.h"
#include "backend/train/evaluator.h"
#include "backend/train/trainer.h"
#include "backend/values/metric_names.h"

namespace millrace::train {
namespace {

namespace metric = values::metric;

}  // namespace

Status Trainer::evaluate() {
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
            RETURN_IF_ERROR(reporter_.send(
                rank::Metrics{step_, epoch_, rows_, clock_.wallMs(), result->values}));
        }
        RETURN_IF_ERROR(judge(result->values));
    }
    meter_.restart(source_ ? source_->stallNs() : 0);
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
    order.directory = options_.checkpointDirectory;
    order.name = {step_, static_cast<int>(options_.attempt)};
    order.meta = checkpointMeta(state_);
    ASSIGN_OR_RETURN(order.meta["unacked"], reporter_.unacked());
    order.state = state_;
    order.isBest = early_.isOn() && early_.bestStep() == step_;
    return order;
}

// Old files are the daemon's to remove, once it has stored newer ones. While it does not answer
// they all stay, and each one more doubles the way to the next: the disk takes a number of them
// that grows with the logarithm of the time, and at most half of the way without a daemon is lost.
bool Trainer::isCheckpointDue() {
    constexpr std::int64_t kOnTheirWay = 2;  // between a write and its acknowledgement
    const std::int64_t every = options_.checkpointEverySteps;
    if (every == 0 || step_ % every != 0) {
        return false;
    }
    // Ranks compare their weights at a checkpoint, so all come to it alike.
    const std::int64_t waiting = group_.size() == 1 ? reporter_.unackedCheckpoints() : 0;
    const std::int64_t tooMany = waiting - options_.checkpointKeep - kOnTheirWay;
    const std::int64_t doublings = std::clamp<std::int64_t>(tooMany, 0, 62);
    return doublings == 0 || (step_ - lastCheckpointStep_) >> doublings >= every;
}

// One that is needed is there when this returns; others may be written while training goes on.
Status Trainer::checkpoint(bool isNeeded) {
    triedCheckpointStep_ = step_;
    RETURN_IF_ERROR(progress("checkpoint"));
    if (source_) {
        ASSIGN_OR_RETURN(state_, source_->state(epoch_, next_));
    }
    const std::int64_t begunNs = clock_.steadyNs();
    RETURN_IF_ERROR(settleCheckpoint(true));
    RETURN_IF_ERROR(compareWeights());
    lastCheckpointStep_ = step_;
    if (isFirst()) {
        ASSIGN_OR_RETURN(CheckpointOrder order, checkpointOrder());
        if (options_.copiesCheckpoints && !isNeeded) {
            writer_.begin(std::move(order), learner_->tensors());
        } else {
            const auto outcome = CheckpointWriter::write(std::move(order), learner_->tensors());
            RETURN_IF_ERROR(tellOf(outcome));
            RETURN_IF_ERROR(isNeeded ? outcome.file.status() : okStatus());
        }
        RETURN_IF_ERROR(step_ == 0 ? okStatus() : tellUse(clock_.steadyNs() - begunNs));
    }
    meter_.restart(source_ ? source_->stallNs() : 0);
    return okStatus();
}

Status Trainer::settleCheckpoint(bool waits) {
    const auto ended = waits ? writer_.wait() : writer_.takeEnded();
    return ended ? tellOf(*ended) : okStatus();
}

// Where one was not written training goes on and the older checkpoints stay.
Status Trainer::tellOf(const CheckpointWriter::Outcome& outcome) {
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

// How long steps stood still for it, and which rows of the tables were ever touched.
Status Trainer::tellUse(std::int64_t stoodNs) {
    constexpr std::size_t kMostTables = 64;
    rank::Values values;
    values[metric::kTrainerCheckpointMs] = static_cast<double>(stoodNs) * 1e-6;
    const std::vector<TableUse> tables = learner_->tableUse();
    for (std::size_t t = 0; t < std::min(tables.size(), kMostTables); ++t) {
        const TableUse& table = tables[t];
        values[metric::ofTable(table.name, metric::kUsedPercent)] =
            100 * static_cast<double>(table.rowsUsed) / static_cast<double>(table.rows);
    }
    return reporter_.send(rank::Metrics{step_, epoch_, rows_, clock_.wallMs(), std::move(values)});
}

Status Trainer::compareWeights() {
    if (group_.size() == 1) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> hashes, group_.gather(weightsHash()));
    for (std::size_t r = 1; r < hashes.size(); ++r) {
        if (hashes[r] != hashes[0]) {
            return internalError(
                "step ", step_, ": rank ", r,
                " has other weights than rank 0: a fault of the machine or of this program");
        }
    }
    return okStatus();
}

std::string Trainer::weightsHash() {
    std::string bytes;
    for (const TensorRef& t : learner_->tensors()) {
        if (t.isWeight) {
            const std::string_view data(static_cast<const char*>(t.data),
                                        static_cast<std::size_t>(t.numBytes()));
            strAppend(&bytes, t.name, shapeText(t.shape), hashHex(data));
        }
    }
    return hashHex(bytes);
}

}  // namespace millrace::train
