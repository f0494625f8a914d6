#include "backend/train/loss.h"

#include <algorithm>
#include <cmath>

namespace millrace::train {
namespace {

/// Calls body(r, place, label, weight) for each label of `head` that is present.
template <class Body>
void forLabels(const BatchView& batch, std::size_t head, Body body) {
    const HeadColumn& column = batch.heads[head];
    for (std::int64_t r = 0; r < batch.rows; ++r) {
        if (column.masks && !column.masks[r]) {
            continue;
        }
        const auto place = static_cast<std::size_t>(r) * batch.heads.size() + head;
        body(place, column.labels[r], column.weights ? column.weights[r] : 1.0F);
    }
}

void fit(LossSums& sums, const BatchView& batch) {
    sums.loss.resize(batch.heads.size());
    sums.weight.resize(batch.heads.size());
    sums.rows += batch.rows;
}

}  // namespace

double logitLoss(double logit, double label) {
    return std::max(logit, 0.0) - logit * label + std::log1p(std::exp(-std::abs(logit)));
}

double sigmoid(double logit) {
    if (logit >= 0) {
        return 1 / (1 + std::exp(-logit));
    }
    const double e = std::exp(logit);
    return e / (1 + e);
}

LossSums& LossSums::operator+=(const LossSums& other) {
    loss.resize(std::max(loss.size(), other.loss.size()));
    weight.resize(loss.size());
    for (std::size_t h = 0; h < other.loss.size(); ++h) {
        loss[h] += other.loss[h];
        weight[h] += other.weight[h];
    }
    rows += other.rows;
    return *this;
}

double LossSums::totalLoss() const {
    double total = 0;
    for (const double value : loss) {
        total += value;
    }
    return total;
}

double LossSums::totalWeight() const {
    double total = 0;
    for (const double value : weight) {
        total += value;
    }
    return total;
}

void lossGradients(const BatchView& batch, const std::vector<float>& logits,
                   std::vector<float>& gradients, LossSums& sums) {
    fit(sums, batch);
    gradients.assign(logits.size(), 0.0F);
    for (std::size_t head = 0; head < batch.heads.size(); ++head) {
        forLabels(batch, head, [&](std::size_t place, double label, double weight) {
            const double logit = logits[place];
            sums.weight[head] += weight;
            if (weight != 0) {
                sums.loss[head] += weight * logitLoss(logit, label);
                gradients[place] = static_cast<float>(weight * (sigmoid(logit) - label));
            }
        });
    }
}

void findNotFinite(const BatchView& batch, const std::vector<float>& logits, std::int64_t from,
                   std::vector<std::int64_t>& rows) {
    std::vector<char> isBad(static_cast<std::size_t>(batch.rows));
    for (std::size_t head = 0; head < batch.heads.size(); ++head) {
        forLabels(batch, head, [&](std::size_t place, double label, double weight) {
            if (weight != 0 && !std::isfinite(weight * logitLoss(logits[place], label))) {
                isBad[place / batch.heads.size()] = 1;
            }
        });
    }
    for (std::size_t r = 0; r < isBad.size(); ++r) {
        if (isBad[r] != 0) {
            rows.push_back(from + static_cast<std::int64_t>(r));
        }
    }
}

void addWeights(const BatchView& batch, LossSums& sums) {
    fit(sums, batch);
    for (std::size_t head = 0; head < batch.heads.size(); ++head) {
        forLabels(batch, head,
                  [&](std::size_t, double, double weight) { sums.weight[head] += weight; });
    }
}

void addLoss(const BatchView& batch, const std::vector<double>& probabilities, LossSums& sums) {
    fit(sums, batch);
    for (std::size_t head = 0; head < batch.heads.size(); ++head) {
        forLabels(batch, head, [&](std::size_t place, double label, double weight) {
            const double p = probabilities[place];
            sums.weight[head] += weight;
            sums.loss[head] -= weight * (label * std::log(p) + (1 - label) * std::log1p(-p));
        });
    }
}

}  // namespace millrace::train
