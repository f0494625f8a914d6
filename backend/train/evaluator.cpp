#include "backend/train/evaluator.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "backend/core/log.h"
#include "backend/values/metric_names.h"

namespace millrace::train {
namespace {

namespace metric = values::metric;

constexpr int kEvalAttemptsMax = 20;

// With a single class, every metric that compares classes is undefined: such a run must not end as
// if it had been evaluated.
Status checkEvaluation(const std::string& head, const EvalFigures& f) {
    if (f.rows == 0) {
        return invalidArgument("eval.dataset: the evaluation set has no row with a label of head '",
                               head, "' (", f.rowsWithoutLabel,
                               " without); check eval.dataset.where");
    }
    if (f.labelSum == 0 || f.labelSum == static_cast<double>(f.rows)) {
        return invalidArgument("eval.dataset: label '", head, "' is ", f.labelSum == 0 ? 0 : 1,
                               " in all ", f.rows,
                               " rows of the evaluation set: an evaluation needs both classes");
    }
    return okStatus();
}

// `wanted`: the metrics that the spec asks for; empty: all of them.
void addFigures(const EvalFigures& f, const std::vector<std::string>& wanted,
                const std::string& prefix, rank::Values& values) {
    const std::pair<std::string_view, double> figures[] = {
        {metric::kAuc, f.auc},
        {metric::kLogLoss, f.logLoss},
        {metric::kNormalizedEntropy, f.normalizedEntropy},
        {metric::kCalibration, f.calibration}};
    for (const auto& [figure, value] : figures) {
        if (wanted.empty() || std::ranges::find(wanted, figure) != wanted.end()) {
            values[strCat(prefix, figure)] = value;
        }
    }
    values[prefix + metric::kRows] = static_cast<double>(f.rows);
    values[prefix + metric::kPositives] = static_cast<double>(f.positives);
    values[prefix + metric::kRowsWithoutLabel] = static_cast<double>(f.rowsWithoutLabel);
}

// Outcome of a rank's pass over its share. Ranks exchange it, so that all continue alike.
enum class Pass : char { kWhole, kCutShort, kLost, kFailed };

}  // namespace

// A lost feed takes its evaluation stream with it; the next feed serves it from the start. Each
// open waits for a feed up to its connect timeout.
millrace::Result<std::optional<Evaluator::Result>> Evaluator::run(std::int64_t step,
                                                                  const SourceOpener& open,
                                                                  const NextEvent& next) {
    for (int attempt = 1;; ++attempt) {
        millrace::Result<std::optional<Result>> result = once(step, open, next);
        if (!result.ok() && reporter_.isOver(step + 1)) {
            return std::nullopt;
        }
        if (!absl::IsUnavailable(result.status()) || attempt == kEvalAttemptsMax) {
            return result;
        }
        logWarn("train: evaluation starts over",
                {{"step", step}, {"why", messageOf(result.status())}});
    }
}

millrace::Result<std::optional<Evaluator::Result>> Evaluator::once(std::int64_t step,
                                                                   const SourceOpener& open,
                                                                   const NextEvent& next) {
    // Rank 0 adds its own rows directly, without packing them.
    const bool isFirst = group_.rank() == 0;
    Evaluation evaluation(heads_);
    EvalShare share(heads_.size());
    std::string state;
    const millrace::Result<bool> own = score(
        open, next,
        [&](const BatchView& batch, const std::vector<double>& probabilities) {
            isFirst ? evaluation.add(batch, probabilities) : share.add(batch, probabilities);
        },
        state);
    const bool isLost = absl::IsUnavailable(own.status()) && !reporter_.isOver(step + 1);
    const Pass pass = own.ok()                     ? (*own ? Pass::kWhole : Pass::kCutShort)
                      : isLost                     ? Pass::kLost
                      : reporter_.isOver(step + 1) ? Pass::kCutShort
                                                   : Pass::kFailed;
    ASSIGN_OR_RETURN(const std::vector<std::string> passes,
                     group_.gather(std::string(1, static_cast<char>(pass))));
    RETURN_IF_ERROR(own.status());
    Pass worst = Pass::kWhole;
    for (std::size_t r = 0; r < passes.size(); ++r) {
        const auto one = static_cast<Pass>(passes[r].empty() ? '\0' : passes[r][0]);
        if (one == Pass::kFailed) {
            return internalError("evaluation: rank ", r, " failed");
        }
        worst = std::max(worst, one);
    }
    if (worst == Pass::kLost) {
        return unavailable("evaluation: another rank's feed is gone");
    }
    if (worst == Pass::kCutShort) {
        return std::nullopt;
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> shares, group_.collect(share.bytes()));
    if (!isFirst) {
        return Result{};
    }
    for (const std::string& one : shares) {
        RETURN_IF_ERROR(EvalShare::addTo(one, heads_.size(), evaluation));
    }
    ASSIGN_OR_RETURN(Result result, figuresOf(evaluation, step));
    result.state = std::move(state);
    return result;
}

millrace::Result<bool> Evaluator::score(const SourceOpener& open, const NextEvent& next,
                                        const TakeScores& take, std::string& state) {
    ASSIGN_OR_RETURN(const std::unique_ptr<BatchSource> source, open("eval", ""));
    std::vector<double> probabilities;
    while (true) {
        ASSIGN_OR_RETURN(const FeedEvent event, next(*source));
        if (event.kind == FeedEvent::Kind::kEndOfEpoch) {
            state = source->state(event.epoch, event.number).value_or("");
            state = state.size() > rank::kMaxLineBytes / 4 ? "" : state;  // goes into one line
            return true;
        }
        if (event.kind == FeedEvent::Kind::kStep) {
            continue;
        }
        if (event.kind != FeedEvent::Kind::kBatch) {
            return event.kind == FeedEvent::Kind::kEndOfStream;
        }
        RETURN_IF_ERROR(annotate(learner_.predict(event.batch, probabilities),
                                 strCat("evaluation, micro-batch ", event.number)));
        take(event.batch, probabilities);
    }
}

millrace::Result<Evaluator::Result> Evaluator::figuresOf(Evaluation& evaluation,
                                                         std::int64_t step) {
    rank::Values values;
    bool isFirst = true;
    for (std::size_t h = 0; h < evaluation.numHeads(); ++h) {
        if (!evaluation.isThere(h)) {
            continue;
        }
        const std::string& name = heads_[h];
        const EvalFigures f = evaluation.figures(h);
        RETURN_IF_ERROR(checkEvaluation(name, f));
        addFigures(f, options_.metrics, strCat(metric::kEvalPrefix, name, "."), values);
        if (std::exchange(isFirst, false)) {
            addFigures(f, options_.metrics, metric::kEvalPrefix, values);
        }
    }
    Result out{std::move(values), evaluation.hash()};
    evaluation.keepScores(options_.scoresDirectory, options_.attempt, step);
    return out;
}

}  // namespace millrace::train
