#pragma once
// One pass over the evaluation rows: metrics per head, a hash of the rows, and the model's
// predictions. Threads: one owner.
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

    /// Adds the batch's predictions, [rows, heads].
    void add(const BatchView& batch, std::span<const double> probabilities);

    std::size_t numHeads() const { return heads_.size(); }
    /// False for a head whose labels the evaluation rows lack.
    bool isThere(std::size_t head) const { return isThere_[head]; }
    EvalFigures figures(std::size_t head) { return heads_[head].figures(); }
    std::string hash() const { return rows_.hex(); }
    /// Writes the scores of the heads that are present into a run's directory ("": nowhere), then
    /// frees them. A run whose scores cannot be written continues: its metrics can still be
    /// compared.
    void keepScores(const std::string& directory, std::int64_t attempt, std::int64_t step);

 private:
    std::vector<EvalAccumulator> heads_;
    std::vector<bool> isThere_;
    RowsHash rows_;
    scores::Scores scores_;
};

}  // namespace millrace::train
