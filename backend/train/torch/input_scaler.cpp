#include "backend/train/torch/input_scaler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include <ATen/ATen.h>

namespace millrace::train {
namespace {

constexpr double kInputLimit = 5;

}  // namespace

InputScaler::Statistics::Statistics(std::int64_t width)
    : count(static_cast<std::size_t>(width)), mean(count.size()), squares(count.size()) {}

void InputScaler::Statistics::merge(const Statistics& other) {
    for (std::size_t c = 0; c < count.size(); ++c) {
        const double total = count[c] + other.count[c];
        if (other.count[c] == 0) {
            continue;
        }
        const double delta = other.mean[c] - mean[c];
        mean[c] += delta * other.count[c] / total;
        squares[c] += other.squares[c] + delta * delta * count[c] * other.count[c] / total;
        count[c] = total;
    }
}

InputScaler::InputScaler(std::int64_t width, const at::TensorOptions& options)
    : width_(width),
      statistics_(width),
      step_(width),
      mean_(at::zeros({width}, options)),
      factor_(at::ones({width}, options)) {}

// Welford's recurrence.
void InputScaler::addTo(Statistics& statistics, const BatchView& batch) {
    std::size_t first = 0;
    for (const DenseColumn& column : batch.dense) {
        const auto width = static_cast<std::size_t>(column.width);
        double *const count = &statistics.count[first], *const mean = &statistics.mean[first],
                      *const squares = &statistics.squares[first];
        const float* values = column.values;
        for (std::int64_t r = 0; r < batch.rows; ++r, values += width) {
            for (std::size_t c = 0; c < width; ++c) {
                if (std::isfinite(values[c])) {
                    count[c] += 1;
                    const double delta = values[c] - mean[c];
                    mean[c] += delta / count[c];
                    squares[c] += delta * (values[c] - mean[c]);
                }
            }
        }
        first += width;
    }
}

Result<std::vector<InputScaler::Statistics>> InputScaler::ofAllRanks(const Statistics& mine,
                                                                     Group& group) const {
    std::string told;
    for (const std::vector<double>* values : {&mine.count, &mine.mean, &mine.squares}) {
        told += bytesOfValues(std::span<const double>(*values));
    }
    ASSIGN_OR_RETURN(const std::vector<std::string> all, group.gather(told));
    std::vector<Statistics> out;
    for (const std::string& one : all) {
        if (one.size() != told.size()) {
            return internalError("ranks: statistics of another width");
        }
        Statistics& to = out.emplace_back(width_);
        std::size_t from = 0;
        for (std::vector<double>* values : {&to.count, &to.mean, &to.squares}) {
            const std::size_t bytes = values->size() * sizeof(double);
            std::memcpy(values->data(), one.data() + from, bytes);
            from += bytes;
        }
    }
    return out;
}

Status InputScaler::start(const BatchView* batch, Group& group) {
    isStarted_ = true;
    if (width_ > 0) {
        Statistics first(width_);
        if (batch != nullptr) {
            addTo(first, *batch);
        }
        ASSIGN_OR_RETURN(const std::vector<Statistics> all, ofAllRanks(first, group));
        refresh(all[0]);
    }
    return okStatus();
}

Status InputScaler::endStep(Group& group) {
    if (width_ > 0) {
        ASSIGN_OR_RETURN(const std::vector<Statistics> all, ofAllRanks(step_, group));
        for (const Statistics& one : all) {
            statistics_.merge(one);
        }
        step_ = Statistics(width_);
        refresh(statistics_);
    }
    return okStatus();
}

void InputScaler::refresh(const Statistics& from) {
    std::vector<double> factor(from.mean.size());
    for (std::size_t c = 0; c < factor.size(); ++c) {
        const double variance = from.count[c] > 0 ? from.squares[c] / from.count[c] : 0;
        factor[c] = variance > 1e-12 * from.mean[c] * from.mean[c] ? 1 / std::sqrt(variance) : 1;
    }
    const auto view = [&](const std::vector<double>& of) {
        return at::from_blob(const_cast<double*>(of.data()), {width_}, at::kDouble);
    };
    mean_.copy_(view(from.mean));
    factor_.copy_(view(factor));
}

void InputScaler::restored() {
    isStarted_ = std::any_of(statistics_.count.begin(), statistics_.count.end(),
                             [](double n) { return n > 0; });
    refresh(statistics_);
}

at::Tensor InputScaler::scale(const at::Tensor& dense) const {
    if (width_ == 0) {
        return dense.to(mean_.scalar_type());
    }
    // NaN where the input is not finite.
    const at::Tensor numbers = (dense - dense).add_(dense);
    return (numbers - mean_).mul_(factor_).clamp_(-kInputLimit, kInputLimit).nan_to_num_(0);
}

void InputScaler::appendTensors(std::vector<TensorRef>& out) {
    if (width_ == 0) {
        return;
    }
    const auto add = [&](const char* name, std::vector<double>& values) {
        out.push_back({name, DType::kFloat64, {width_}, values.data(), true});
    };
    add("input.count", statistics_.count);
    add("input.mean", statistics_.mean);
    add("input.squares", statistics_.squares);
}

}  // namespace millrace::train
