#include "backend/train/trainer.h"

#include <algorithm>
#include <cmath>

#include <absl/strings/str_join.h>

#include "backend/core/log.h"
#include "backend/train/loop/step_figures.h"
#include "backend/train/part_timer.h"
#include "backend/train/ranks/step_sums.h"
#include "backend/values/metric_names.h"

namespace millrace::train {
namespace {

namespace metric = values::metric;

}  // namespace

Trainer::Trainer(TrainerOptions options, std::unique_ptr<Learner> learner, SourceOpener open,
                 Group& group, Reporter& reporter, const Clock& clock)
    : options_(std::move(options)),
      learner_(std::move(learner)),
      open_(std::move(open)),
      group_(group),
      reporter_(reporter),
      clock_(clock),
      meter_(clock),
      phases_(clock),
      early_(options_.earlyStop),
      checkpoints_(options_.checkpoints, reporter) {}

Result<std::unique_ptr<Trainer>> Trainer::make(TrainerOptions options, const Checkpoint* resume,
                                               const InitFrom* initFrom, SourceOpener open,
                                               Group& group, Reporter& reporter,
                                               const Clock& clock) {
    if (options.microBatchesPerStep < 1 || options.microBatchesPerStep % group.size() != 0) {
        return invalidArgument("train.ranks: ", group.size(), " ranks do not divide the ",
                               options.microBatchesPerStep, " micro-batches of a step");
    }
    ASSIGN_OR_RETURN(std::unique_ptr<Learner> learner, makeLearner(options.learner, group));
    std::unique_ptr<Trainer> trainer(new Trainer(std::move(options), std::move(learner),
                                                 std::move(open), group, reporter, clock));
    if (resume) {
        RETURN_IF_ERROR(trainer->resumeFrom(*resume));
    } else if (initFrom) {
        RETURN_IF_ERROR(beginFrom(*initFrom, trainer->options_.numericKeys, *trainer->learner_));
    }
    return trainer;
}

Status Trainer::resumeFrom(const Checkpoint& checkpoint) {
    const Json& meta = checkpoint.meta();
    for (const char* key : {"spec_hash", "stream_hash"}) {
        const std::string was = jsonString(jsonMember(meta, "identity"), key);
        const std::string is = jsonString(options_.identity, key);
        if (std::string_view(key) == "stream_hash" && was != is) {
            return failedPrecondition("checkpoint ", checkpoint.path(),
                                      ": was taken from another stream (stream hash ", was,
                                      ", this run has ", is, ")");
        }
    }
    RETURN_IF_ERROR(learner_->restore(checkpoint));
    step_ = jsonInt(meta, "step");
    checkpoints_.begin(step_);
    rows_ = jsonInt(meta, "rows");
    epoch_ = jsonInt(meta, "epoch");
    next_ = jsonInt(meta, "next_micro_batch");
    epochBatches_ = jsonInt(meta, "epoch_micro_batches");
    stepsWithoutWeight_ = jsonInt(meta, "steps_without_weight");
    state_ = jsonString(meta, "state");
    evalHash_ = jsonString(meta, "eval_hash");
    evalState_ = jsonString(meta, "eval_state");
    lastEvalStep_ = jsonInt(meta, "eval_step", -1);
    early_.restore(jsonMember(meta, "early_stop"));
    endsEarly_ = early_.isDue();
    for (const auto& item : jsonMember(meta, "values").items()) {
        if (const Result<double> value = jsonDouble(item.value()); value.ok()) {
            lastValues_[item.key()] = *value;
        }
    }
    compareKeys(checkpoint);
    return okStatus();
}

void Trainer::compareKeys(const Checkpoint& checkpoint) {
    resumeChanges_ =
        changedKeys(jsonMember(checkpoint.meta(), "numeric_keys"), options_.numericKeys);
    for (const std::string& change : resumeChanges_) {
        logWarn("train: resumed with another key, not bit for bit", {{"key", change}});
    }
}

bool Trainer::isEvalMissing() const {
    const std::int64_t every = options_.evalEverySteps;
    return options_.hasEval && every > 0 && step_ > 0 && step_ % every == 0 &&
           lastEvalStep_ != step_;
}

bool Trainer::isFinished() const {
    const std::int64_t epochs = std::min(options_.epochs, learner_->epochsMax());
    return streamEnded_ || endsEarly_ || epoch_ + (epochEnded_ ? 1 : 0) >= epochs ||
           (options_.maxSteps > 0 && step_ >= options_.maxSteps);
}

Result<Trainer::Outcome> Trainer::run() {
    if (!isFinished()) {
        ASSIGN_OR_RETURN(source_, open_("train", state_));
        if (epoch_ == 0 && next_ == 0) {
            labels_.begin(options_.learner.heads.size());
        }
    }
    // A stop cut the evaluation of the resumed step short, or does so now: all ranks end at this
    // step, so that the next attempt starts with the evaluation.
    if (isEvalMissing()) {
        RETURN_IF_ERROR(evaluate());
    }
    while (!isFinished()) {
        Taken taken = Taken::kStopped;
        if (!isEvalMissing()) {
            ASSIGN_OR_RETURN(taken, takeStep());
        }
        if (taken == Taken::kStopped || (!isFinished() && reporter_.isOver(step_ + 1))) {
            RETURN_IF_ERROR(checkpoint(true));
            return Outcome::kStopped;
        }
    }
    if (options_.hasEval && lastEvalStep_ != step_) {
        RETURN_IF_ERROR(evaluate());
    }
    // Needed even if this step has a checkpoint: that one may be from before the epoch's end was
    // read.
    RETURN_IF_ERROR(checkpoint(true));
    if (options_.hasEval && lastEvalStep_ != step_) {
        return Outcome::kStopped;
    }
    RETURN_IF_ERROR(reporter_.finish(doneLine()));
    return Outcome::kDone;
}

// Reports during long work too, so that a silent trainer can be treated as hung.
Result<FeedEvent> Trainer::nextEvent(BatchSource& source, const char* waiting,
                                     const char* working) {
    if (meter_.isQuiet()) {
        RETURN_IF_ERROR(progress(working));
    }
    const PhaseClock::Scope scope(phases_, phases_.waiting());
    while (true) {
        ASSIGN_OR_RETURN(const FeedEvent event, source.next());
        if (event.kind != FeedEvent::Kind::kWaiting) {
            return event;
        }
        if (reporter_.isOver(step_ + 1)) {
            FeedEvent stopped;
            stopped.kind = FeedEvent::Kind::kStopped;
            return stopped;
        }
        if (meter_.progressDue()) {
            RETURN_IF_ERROR(progress(waiting, phases_.openMs()));
        }
    }
}

// The feed's mark ends a step. The end of an epoch follows its last mark and is read with it.
Result<Trainer::Taken> Trainer::gather(LossSums& sums, std::int64_t& stepEnd) {
    stepEnd = next_;
    stepRows_.clear();
    for (std::int64_t from = next_; !epochEnded_;) {
        ASSIGN_OR_RETURN(const FeedEvent event, nextEvent(*source_, "waiting", "training"));
        phases_.endStart();
        if (event.kind == FeedEvent::Kind::kStopped) {
            return Taken::kStopped;
        }
        if (event.kind == FeedEvent::Kind::kEndOfStream) {
            streamEnded_ = true;
            break;
        }
        const bool isBatch = event.kind == FeedEvent::Kind::kBatch;
        if (event.epoch != epoch_ || event.number < from) {
            return dataLoss("train feed: gave ", isBatch ? "micro-batch " : "the end at ",
                            event.number, " of epoch ", event.epoch, "; expected ", from,
                            " or later of epoch ", epoch_);
        }
        from = event.number + (isBatch ? 1 : 0);
        if (isBatch) {
            RETURN_IF_ERROR(annotate(learner_->accumulate(event.batch, sums),
                                     strCat("step ", step_ + 1, ", micro-batch ", event.number,
                                            " of epoch ", event.epoch)));
            labels_.watch(event.batch);
            stepRows_.add(event.batch);
        } else if (event.kind == FeedEvent::Kind::kEndOfEpoch) {
            epochEnded_ = true;
            epochBatches_ = event.number;
            if (group_.size() == 1) {
                RETURN_IF_ERROR(labels_.endEpoch(options_.learner.heads));
            }
        } else {
            stepEnd = event.number;
            if (!event.isLast) {
                break;
            }
        }
    }
    return stepEnd > next_ ? Taken::kStep : Taken::kNothing;
}

Result<Trainer::Taken> Trainer::takeStep() {
    if (epochEnded_) {
        ++epoch_;
        next_ = 0;
        epochEnded_ = false;
    }
    LossSums sums;
    sums.loss.resize(options_.learner.heads.size());
    sums.weight.resize(options_.learner.heads.size());
    std::int64_t stepEnd = 0;
    ASSIGN_OR_RETURN(const Taken taken, gather(sums, stepEnd));
    if (taken != Taken::kStep) {
        return taken;
    }
    if (!reporter_.begin(step_ + 1)) {
        return Taken::kStopped;
    }
    if (group_.size() > 1) {
        RETURN_IF_ERROR(learner_->collect(sums));
        const PartTimer timer(sumNs_);
        ASSIGN_OR_RETURN(sums, sumOverRanks(std::move(sums), group_));
    }
    next_ = stepEnd;
    RETURN_IF_ERROR(endStep(sums));
    RETURN_IF_ERROR(afterStep());
    return taken;
}

StepTimes Trainer::stepTimes() const {
    StepTimes times{phases_.times(), learner_->times()};
    times.learner.communication += sumNs_;
    return times;
}

Status Trainer::endStep(LossSums& sums) {
    const double weight = sums.totalWeight();
    std::optional<UpdateFigures> figures;
    if (isFirst() && weight > 0 && options_.learner.model != "target_mean" && meter_.ratesDue()) {
        figures.emplace();
    }
    RETURN_IF_ERROR(annotate(learner_->apply(weight, figures ? &*figures : nullptr),
                             strCat("step ", step_ + 1)));
    if (group_.size() == 1) {
        RETURN_IF_ERROR(learner_->collect(sums));
    }
    ++step_;
    rows_ += sums.rows;
    rank::Values values;
    values[metric::kLoss] = sums.mean();
    const std::vector<std::string>& heads = options_.learner.heads;
    for (std::size_t h = 0; heads.size() > 1 && h < heads.size(); ++h) {
        values[strCat("loss.", heads[h])] = sums.meanOf(h);
    }
    if (weight == 0) {
        values[metric::kStepsWithoutWeight] = static_cast<double>(++stepsWithoutWeight_);
    }
    if (figures) {
        addFigures(*figures, *learner_, options_.learner, values);
    }
    lastValues_[metric::kLoss] = sums.mean();
    meter_.endStep(sums.rows, stepTimes(), values);
    if (isFirst()) {
        RETURN_IF_ERROR(reporter_.send(
            rank::Metrics{step_, epoch_, rows_, clock_.wallMs(), std::move(values)}));
    }
    return weight > 0 && !std::isfinite(sums.mean()) ? lossNotFinite() : okStatus();
}

// The same rows would fail again on a retry, so this is an input error.
Status Trainer::lossNotFinite() {
    ASSIGN_OR_RETURN(const std::vector<std::string> told,
                     group_.gather(stepRows_.told(learner_->rowsNotFinite(), options_.fileName)));
    std::string rows;
    for (std::size_t r = 0; r < told.size(); ++r) {
        if (!told[r].empty()) {
            strAppend(&rows, rows.empty() ? "" : "; ",
                      told.size() > 1 ? strCat("rank ", r, ": ") : "", told[r]);
        }
    }
    return invalidArgument("step ", step_, ": the loss is not finite", rows.empty() ? "" : ": ",
                           rows,
                           ". Where it is most rows, weights have run away: a smaller "
                           "train.learning_rate, train.clip_norm or bounded label weights help");
}

Status Trainer::afterStep() {
    RETURN_IF_ERROR(checkpoints_.settle(false));
    if (isEvalMissing()) {
        RETURN_IF_ERROR(evaluate());
    }
    if (!checkpoints_.hasBegun(step_) && checkpoints_.isDue(step_, group_.size() == 1)) {
        RETURN_IF_ERROR(checkpoint(false));
    }
    return meter_.progressDue() ? progress("training") : okStatus();
}

Status Trainer::progress(const char* phase, double waitingMs) {
    std::int64_t total = 0;
    if (epochBatches_ > 0) {
        const std::int64_t perEpoch =
            (epochBatches_ + options_.microBatchesPerStep - 1) / options_.microBatchesPerStep;
        total = perEpoch * std::min(options_.epochs, learner_->epochsMax());
    }
    if (options_.maxSteps > 0) {
        total = total > 0 ? std::min(total, options_.maxSteps) : options_.maxSteps;
    }
    return reporter_.send(
        rank::Progress{step_, epoch_, rows_, total, phase, phases_.times(), waitingMs});
}

rank::Done Trainer::doneLine() {
    rank::Done done;
    done.step = step_;
    done.rows = rows_;
    done.state = state_;
    if (!isFirst()) {
        return done;
    }
    done.metrics = lastValues_;
    done.metrics[metric::kStepsWithoutWeight] = static_cast<double>(stepsWithoutWeight_);
    done.params["weights_hash"] = weightsHash(learner_->tensors());
    if (!evalHash_.empty()) {
        done.params.insert({{"eval_order_hash", evalHash_}, {"eval_state", evalState_}});
    }
    if (early_.isOn()) {
        done.params["end_reason"] = early_.sentence();
    }
    if (!resumeChanges_.empty()) {
        done.params["resume_changes"] = absl::StrJoin(resumeChanges_, "; ");
    }
    return done;
}

}  // namespace millrace::train
