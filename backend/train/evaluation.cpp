#include "backend/train/evaluation.h"

#include <limits>
#include <utility>

#include "backend/core/log.h"

namespace millrace::train {
namespace {

constexpr float kNoLabel = std::numeric_limits<float>::quiet_NaN();

}  // namespace

Evaluation::Evaluation(const std::vector<std::string>& heads)
    : heads_(heads.size()), isThere_(heads.size(), true) {
    for (const std::string& head : heads) {
        scores_.heads.push_back({head, {}, {}});
    }
}

void Evaluation::add(const BatchView& batch, std::span<const double> probabilities) {
    const std::size_t stride = heads_.size();
    for (std::int64_t r = 0; r < batch.rows; ++r) {
        rows_.add(batch.rowFiles[r], batch.rowNumbers[r]);
        scores_.keys.push_back(rowKey(batch.rowFiles[r], batch.rowNumbers[r]));
    }
    scores_.rowsEvaluated += static_cast<std::uint64_t>(batch.rows);
    for (std::size_t h = 0; h < stride; ++h) {
        const HeadColumn& column = batch.heads[h];
        isThere_[h] = isThere_[h] && column.labels != nullptr;
        if (isThere_[h]) {
            heads_[h].add(batch.rows, probabilities.data() + h, static_cast<std::int64_t>(stride),
                          column);
        }
        for (std::int64_t r = 0; r < batch.rows; ++r) {
            const bool hasLabel = isThere_[h] && (!column.masks || column.masks[r] != 0);
            scores_.heads[h].scores.push_back(
                static_cast<float>(probabilities[static_cast<std::size_t>(r) * stride + h]));
            scores_.heads[h].labels.push_back(hasLabel ? column.labels[r] : kNoLabel);
        }
    }
    if (scores_.keys.size() >= 2 * scores::kRowsMost) {
        scores_.settle();
    }
}

void Evaluation::keepScores(const std::string& directory, std::int64_t attempt, std::int64_t step) {
    if (directory.empty()) {
        return;
    }
    scores_.step = step;
    scores_.attempt = attempt;
    scores_.hash = hash();
    for (std::size_t h = heads_.size(); h-- > 0;) {
        if (!isThere_[h]) {
            scores_.heads.erase(scores_.heads.begin() + static_cast<std::ptrdiff_t>(h));
        }
    }
    scores_.settle();
    const Status kept = scores::writeScores(directory, std::exchange(scores_, {}));
    if (!kept.ok()) {
        logWarn("train: scores not kept", {{"step", step}, {"why", messageOf(kept)}});
    }
}

}  // namespace millrace::train
