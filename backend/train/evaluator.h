#pragma once
// An evaluation by all ranks: each scores its share of the rows, rank 0 computes the metrics.
//
// Threads: one owner; run() is a collective call. Failure: kInvalidArgument for evaluation rows
// whose metrics are undefined.
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "backend/train/batch_source.h"
#include "backend/train/eval_share.h"
#include "backend/train/learner.h"
#include "backend/train/ranks/group.h"
#include "backend/train/reporter.h"

namespace millrace::train {

struct EvalOptions {
    std::vector<std::string> metrics;  ///< metrics to report; empty: all
    std::string scoresDirectory;       ///< directory for the scores; "": none
    std::int64_t attempt = 1;
};

class Evaluator {
 public:
    struct Result {
        rank::Values values;  ///< rank 0 only
        std::string hash;     ///< RowsHash; rank 0 only
        std::string state{};  ///< of the stream at its end, with its counts; "" unknown
    };
    /// Returns the next event of a source, waiting in the trainer's way.
    using NextEvent = std::function<millrace::Result<FeedEvent>(BatchSource&)>;

    /// All references outlive it.
    Evaluator(const EvalOptions& options, const std::vector<std::string>& heads, Learner& learner,
              Group& group, Reporter& reporter)
        : options_(options), heads_(heads), learner_(learner), group_(group), reporter_(reporter) {}

    /// Returns none if a stop cut the evaluation short in any rank. Waits for a lost feed and then
    /// restarts the evaluation.
    millrace::Result<std::optional<Result>> run(std::int64_t step, const SourceOpener& open,
                                                const NextEvent& next);

 private:
    /// Takes a batch and its predictions, [rows, heads].
    using TakeScores = std::function<void(const BatchView&, const std::vector<double>&)>;

    /// kUnavailable if a rank's feed is gone.
    millrace::Result<std::optional<Result>> once(std::int64_t step, const SourceOpener& open,
                                                 const NextEvent& next);
    /// Scores this rank's share; false if it was cut short. `state`: as Result::state.
    millrace::Result<bool> score(const SourceOpener& open, const NextEvent& next,
                                 const TakeScores& take, std::string& state);
    millrace::Result<Result> figuresOf(Evaluation& evaluation, std::int64_t step);

    const EvalOptions& options_;
    const std::vector<std::string>& heads_;
    Learner& learner_;
    Group& group_;
    Reporter& reporter_;
};

}  // namespace millrace::train
