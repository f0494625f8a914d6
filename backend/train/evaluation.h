#pragma once
// One pass over the evaluation rows: figures by head, which rows they were, and what the model said
// of each. Threads: one owner.
#include <span>
#include <string>
#include <vector>

#include "backend/core/row_hash.h"
#include "backend/scores/score_file.h"
#include "backend/train/batch.h"
#include "backend/train/metrics.h"

namespace millrace::train {

class Evaluation {
 public:
    explicit Evaluation(const std::vector<std::string>& heads);

    /// Predictions of the batch, [rows, heads].
    void add(const BatchView& batch, std::span<const double> probabilities);

    std::size_t numHeads() const { return heads_.size(); }
    /// False of a head whose labels the evaluation rows do not have.
    bool isThere(std::size_t head) const { return isThere_[head]; }
    EvalFigures figures(std::size_t head) { return heads_[head].figures(); }
    std::string hash() const { return rows_.hex(); }
    /// In a run's directory, of the heads that are there; "": nowhere. Lets go of them. A run whose
    /// scores cannot be kept goes on: it is compared by its figures.
    void keepScores(const std::string& directory, std::int64_t attempt, std::int64_t step);

 private:
    std::vector<EvalAccumulator> heads_;
    std::vector<bool> isThere_;
    RowsHash rows_;
    scores::Scores scores_;
};

}  // namespace millrace::train
