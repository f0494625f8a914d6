#pragma once
// An evaluation of all ranks: each scores its share of the rows, rank 0 makes the figures.
//
// Threads: one owner; a run is a call that all ranks make. Failure: kInvalidArgument for a set of
// which figures are undefined.
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
    std::vector<std::string> metrics;  ///< which figures are reported; empty: all
    std::string scoresDirectory;       ///< where the scores are kept; "": nowhere
    std::int64_t attempt = 1;
};

class Evaluator {
 public:
    struct Result {
        rank::Values values;  ///< of rank 0
        std::string hash;     ///< RowsHash; of rank 0
    };
    /// The next event of a source, in the trainer's way of waiting.
    using NextEvent = std::function<millrace::Result<FeedEvent>(BatchSource&)>;

    /// All outlive it.
    Evaluator(const EvalOptions& options, const std::vector<std::string>& heads, Learner& learner,
              Group& group, Reporter& reporter)
        : options_(options), heads_(heads), learner_(learner), group_(group), reporter_(reporter) {}

    /// None when a stop cut it short in any rank. A feed that goes away is waited for, and the
    /// evaluation starts over.
    millrace::Result<std::optional<Result>> run(std::int64_t step, const SourceOpener& open,
                                                const NextEvent& next);

 private:
    /// Takes a batch and its predictions, [rows, heads].
    using TakeScores = std::function<void(const BatchView&, const std::vector<double>&)>;

    /// kUnavailable when a rank's feed is gone.
    millrace::Result<std::optional<Result>> once(std::int64_t step, const SourceOpener& open,
                                                 const NextEvent& next);
    /// This rank's share; false when it was cut short.
    millrace::Result<bool> score(const SourceOpener& open, const NextEvent& next,
                                 const TakeScores& take);
    millrace::Result<Result> figuresOf(Evaluation& evaluation, std::int64_t step);

    const EvalOptions& options_;
    const std::vector<std::string>& heads_;
    Learner& learner_;
    Group& group_;
    Reporter& reporter_;
};

}  // namespace millrace::train
