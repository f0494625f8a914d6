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
