#include "backend/train/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace millrace::train {
namespace {

constexpr double kUndefined = std::numeric_limits<double>::quiet_NaN();
constexpr double kPredictionMargin = 1e-12;

double entropyOf(double rate) {
    if (rate <= 0 || rate >= 1) {
        return 0;
    }
    return -rate * std::log(rate) - (1 - rate) * std::log1p(-rate);
}

}  // namespace

double exactAuc(std::vector<std::pair<double, bool>>& predictions) {
    std::ranges::sort(predictions, [](const auto& a, const auto& b) { return a.first < b.first; });
    double below = 0, positives = 0, wins = 0;
    for (std::size_t i = 0; i < predictions.size();) {
        double tiedNegatives = 0, tiedPositives = 0;
        std::size_t j = i;
        for (; j < predictions.size() && predictions[j].first == predictions[i].first; ++j) {
            (predictions[j].second ? tiedPositives : tiedNegatives) += 1;
        }
        wins += tiedPositives * (below + tiedNegatives / 2);
        below += tiedNegatives;
        positives += tiedPositives;
        i = j;
    }
    const double pairs = positives * below;
    return pairs > 0 ? wins / pairs : kUndefined;
}

void EvalAccumulator::add(std::int64_t rows, const double* probabilities, std::int64_t stride,
                          const HeadColumn& head) {
    for (std::int64_t r = 0; r < rows; ++r) {
        if (head.masks && !head.masks[r]) {
            ++withoutLabel_;
            continue;
        }
        const double p = probabilities[r * stride];
        const double label = head.labels[r];
        const double clipped = std::clamp(p, kPredictionMargin, 1 - kPredictionMargin);
        loss_ -= label * std::log(clipped) + (1 - label) * std::log1p(-clipped);
        labels_ += label;
        sum_ += p;
        predictions_.emplace_back(p, label > 0.5);
    }
}

EvalFigures EvalAccumulator::figures() {
    EvalFigures out;
    out.rows = static_cast<std::int64_t>(predictions_.size());
    out.rowsWithoutLabel = withoutLabel_;
    out.labelSum = labels_;
    out.positives = std::ranges::count(predictions_, true, &std::pair<double, bool>::second);
    const bool isFinite =
        std::ranges::all_of(predictions_, [](const auto& p) { return std::isfinite(p.first); });
    const double n = static_cast<double>(out.rows);
    out.auc = isFinite ? exactAuc(predictions_) : kUndefined;
    out.logLoss = n > 0 ? loss_ / n : kUndefined;
    const double entropy = n > 0 ? entropyOf(labels_ / n) : 0;
    out.normalizedEntropy = entropy > 0 ? out.logLoss / entropy : kUndefined;
    out.calibration = labels_ > 0 ? sum_ / labels_ : kUndefined;
    return out;
}

}  // namespace millrace::train
