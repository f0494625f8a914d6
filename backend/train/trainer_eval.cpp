// The trainer's pauses: evaluation and checkpoints.
#include <algorithm>
#include <string_view>
#include <utility>

#include "backend/core/hash.h"
#include "backend/core/log.h"
#include "backend/train/dense_network.h"
#include "backend/train/evaluation.h"
#include "backend/train/trainer.h"
#include "backend/values/metric_names.h"

namespace millrace::train {
namespace {

namespace metric = values::metric;

constexpr int kEvalAttemptsMax = 20;

// Of such a set every figure that compares the classes is undefined: a run must not end as if it
// had been evaluated.
Status checkEvaluation(const std::string& head, const EvalFigures& f) {
    if (f.rows == 0) {
        return invalidArgument("eval.dataset: the evaluation set has no row with a label of head '",
                               head, "' (", f.rowsWithoutLabel,
                               " without); check eval.dataset.where");
    }
    if (f.positives == 0 || f.positives == static_cast<double>(f.rows)) {
        return invalidArgument("eval.dataset: label '", head, "' is ", f.positives == 0 ? 0 : 1,
                               " in all ", f.rows,
                               " rows of the evaluation set: an evaluation needs both classes");
    }
    return okStatus();
}

// `wanted`: the figures that the spec asks for; empty: all of them.
void addFigures(const EvalFigures& f, const std::vector<std::string>& wanted,
                const std::string& prefix, rank::Values& values) {
    const std::pair<std::string_view, double> figures[] = {
        {metric::kAuc, f.auc},
        {metric::kLogLoss, f.logLoss},
        {metric::kNormalizedEntropy, f.normalizedEntropy},
        {metric::kCalibration, f.calibration}};
    for (const auto& [figure, value] : figures) {
        if (wanted.empty() || std::find(wanted.begin(), wanted.end(), figure) != wanted.end()) {
            values[strCat(prefix, figure)] = value;
        }
    }
    values[prefix + metric::kRows] = static_cast<double>(f.rows);
    values[prefix + metric::kRowsWithoutLabel] = static_cast<double>(f.rowsWithoutLabel);
}

}  // namespace

Status Trainer::evaluate() {
    RETURN_IF_ERROR(progress("evaluating"));
    // A feed that goes away takes its evaluation stream along: the next feed serves it anew. Each
    // open waits for a feed up to its connect time-out.
    for (int attempt = 1; attempt <= kEvalAttemptsMax; ++attempt) {
        Evaluation evaluation(options_.learner.heads);
        const Result<bool> isWhole = evaluateStream(evaluation);
        if (!isWhole.ok() && reporter_.stopRequested()) {
            break;
        }
        if (absl::IsUnavailable(isWhole.status()) && attempt < kEvalAttemptsMax) {
            logWarn("train: evaluation starts over",
                    {{"step", step_}, {"why", messageOf(isWhole.status())}});
            continue;
        }
        RETURN_IF_ERROR(isWhole.status());
        if (*isWhole) {
            RETURN_IF_ERROR(reportEval(evaluation));
            lastEvalStep_ = step_;
        }
        break;
    }
    meter_.restart(source_ ? source_->stallNs() : 0);
    return okStatus();
}

Result<bool> Trainer::evaluateStream(Evaluation& evaluation) {
    ASSIGN_OR_RETURN(const std::unique_ptr<BatchSource> source, open_("eval", ""));
    std::vector<double> probabilities;
    while (true) {
        ASSIGN_OR_RETURN(const FeedEvent event, nextEvent(*source, "evaluating", "evaluating"));
        if (event.kind == FeedEvent::Kind::kEndOfEpoch) {
            return true;
        }
        if (event.kind == FeedEvent::Kind::kStep) {
            continue;
        }
        if (event.kind != FeedEvent::Kind::kBatch) {
            return event.kind == FeedEvent::Kind::kEndOfStream;
        }
        RETURN_IF_ERROR(annotate(learner_->predict(event.batch, probabilities),
                                 strCat("evaluation, micro-batch ", event.number)));
        evaluation.add(event.batch, probabilities);
    }
}

Status Trainer::reportEval(Evaluation& evaluation) {
    rank::Values values;
    bool isFirst = true;
    for (std::size_t h = 0; h < evaluation.numHeads(); ++h) {
        if (!evaluation.isThere(h)) {
            continue;
        }
        const std::string& name = options_.learner.heads[h];
        const EvalFigures f = evaluation.figures(h);
        RETURN_IF_ERROR(checkEvaluation(name, f));
        addFigures(f, options_.evalMetrics, strCat(metric::kEvalPrefix, name, "."), values);
        if (std::exchange(isFirst, false)) {
            addFigures(f, options_.evalMetrics, metric::kEvalPrefix, values);
        }
    }
    for (const auto& [key, value] : values) {
        lastValues_[key] = value;
    }
    evalHash_ = evaluation.hash();
    evaluation.keepScores(options_.scoresDirectory, step_);
    return reporter_.send(rank::Metrics{step_, epoch_, rows_, clock_.wallMs(), std::move(values)});
}

Json Trainer::checkpointMeta(const std::string& state) const {
    Json values = Json::object();
    for (const auto& [key, value] : lastValues_) {
        values[key] = jsonNumber(value);
    }
    return Json{{"identity", options_.identity},
                {"numeric_keys", options_.numericKeys},
                {"rank", options_.rank},
                {"world_size", options_.worldSize},
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
}

Result<CheckpointFile> Trainer::writeNow() {
    Json meta = checkpointMeta(state_);
    ASSIGN_OR_RETURN(meta["unacked"], reporter_.unacked());
    const checkpoint::CheckpointName name{step_, static_cast<int>(options_.attempt)};
    return writeCheckpoint(options_.checkpointDirectory, name, std::move(meta),
                           learner_->tensors());
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
    const std::int64_t tooMany =
        reporter_.unackedCheckpoints() - options_.checkpointKeep - kOnTheirWay;
    const std::int64_t doublings = std::clamp<std::int64_t>(tooMany, 0, 62);
    return doublings == 0 || (step_ - lastCheckpointStep_) >> doublings >= every;
}

Status Trainer::checkpoint(bool isNeeded) {
    RETURN_IF_ERROR(progress("checkpoint"));
    if (source_) {
        ASSIGN_OR_RETURN(state_, source_->state(epoch_, next_));
    }
    const Result<CheckpointFile> file = writeNow();
    if (!file.ok() && !isNeeded) {
        // Training goes on and the older checkpoints stay; the one at the end is needed.
        logError("train: no checkpoint of this step",
                 {{"step", step_}, {"error", messageOf(file.status())}});
        reporter_.setTrouble("checkpoint", strCat("the checkpoint of step ", step_,
                                                  " was not written: ", messageOf(file.status())));
        meter_.restart(source_ ? source_->stallNs() : 0);
        return okStatus();
    }
    RETURN_IF_ERROR(file.status());
    reporter_.setTrouble("checkpoint", "");
    lastCheckpointStep_ = step_;
    meter_.restart(source_ ? source_->stallNs() : 0);
    return reporter_.send(rank::Checkpoint{step_, file->name, file->bytes, file->hash, state_});
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
