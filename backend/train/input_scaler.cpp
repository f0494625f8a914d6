#include "backend/train/input_scaler.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

namespace millrace::train {
namespace {

constexpr float kLimit = 5;

}  // namespace

InputScaler::Statistics::Statistics(std::int64_t width)
    : count(static_cast<std::size_t>(width)), mean(count.size()), squares(count.size()) {}

void InputScaler::Statistics::add(std::size_t column, double value) {
    count[column] += 1;
    const double delta = value - mean[column];
    mean[column] += delta / count[column];
    squares[column] += delta * (value - mean[column]);
}

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

InputScaler::InputScaler(std::int64_t width)
    : width_(width),
      statistics_(width),
      step_(width),
      mean_(static_cast<std::size_t>(width), 0.0F),
      factor_(static_cast<std::size_t>(width), 1.0F) {}

void InputScaler::addTo(Statistics& statistics, const BatchView& batch) {
    std::size_t first = 0;
    for (const DenseColumn& column : batch.dense) {
        const float* values = column.values;
        for (std::int64_t r = 0; r < batch.rows; ++r) {
            for (std::int64_t c = 0; c < column.width; ++c, ++values) {
                if (std::isfinite(*values)) {
                    statistics.add(first + static_cast<std::size_t>(c), *values);
                }
            }
        }
        first += static_cast<std::size_t>(column.width);
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
    for (std::size_t c = 0; c < mean_.size(); ++c) {
        const double variance = from.count[c] > 0 ? from.squares[c] / from.count[c] : 0;
        mean_[c] = static_cast<float>(from.mean[c]);
        factor_[c] = variance > 1e-12 * from.mean[c] * from.mean[c]
                         ? static_cast<float>(1 / std::sqrt(variance))
                         : 1.0F;
    }
}

void InputScaler::restored() {
    isStarted_ = std::any_of(statistics_.count.begin(), statistics_.count.end(),
                             [](double n) { return n > 0; });
    refresh(statistics_);
}

void InputScaler::scale(const BatchView& batch, std::vector<float>& out) const {
    out.resize(static_cast<std::size_t>(batch.rows * width_));
    std::int64_t first = 0;
    for (const DenseColumn& column : batch.dense) {
        const float* values = column.values;
        for (std::int64_t r = 0; r < batch.rows; ++r) {
            float* to = &out[static_cast<std::size_t>(r * width_ + first)];
            for (std::int64_t c = 0; c < column.width; ++c, ++values) {
                const auto i = static_cast<std::size_t>(first + c);
                const float x = (*values - mean_[i]) * factor_[i];
                to[c] = std::isfinite(*values) ? std::clamp(x, -kLimit, kLimit) : 0.0F;
            }
        }
        first += column.width;
    }
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
