#include "backend/train/embedding.h"

#include <cmath>
#include <cstring>

#include "backend/core/philox.h"
#include "backend/train/network_shape.h"

namespace millrace::train {
namespace {

// Sum of the weights below which a weighted list counts as empty.
constexpr float kWeightMin = 1e-12F;

constexpr std::string_view kPrefix = "embedding.";

float totalOf(const IdColumn& ids, std::int64_t from, std::int64_t to) {
    if (!ids.weights) {
        return static_cast<float>(to - from);
    }
    float total = 0;
    for (std::int64_t i = from; i < to; ++i) {
        total += ids.weights[i];
    }
    return std::abs(total) < kWeightMin ? 0 : total;
}

}  // namespace

void fillUniform(std::uint64_t seed, const std::string& name, float bound, std::int64_t size,
                 float* values) {
    const std::uint64_t key = CanonicalBytes().text("init").text(name).hash();
    for (std::int64_t i = 0; i < size; i += 2) {
        const std::uint64_t bits = philox64(seed, key, static_cast<std::uint64_t>(i / 2));
        const auto low = static_cast<float>(static_cast<std::uint32_t>(bits) >> 8) * 0x1.0p-24F;
        const auto high = static_cast<float>(bits >> 40) * 0x1.0p-24F;
        values[i] = (2 * low - 1) * bound;
        if (i + 1 < size) {
            values[i + 1] = (2 * high - 1) * bound;
        }
    }
}

EmbeddingTable::EmbeddingTable(std::string name, std::int64_t rows, std::int64_t dim,
                               const OptimizerOptions& optimizer, std::uint64_t seed)
    : name_(strCat(kPrefix, name)),
      rows_(rows),
      dim_(dim),
      momentWidth_(momentWidth(optimizer, dim)) {
    const auto size = static_cast<std::size_t>(rows * dim);
    values_.resize(size);
    fillUniform(seed, name_ + ".weight", tableBound(rows), rows * dim, values_.data());
    const int moments = numMoments(optimizer);
    const auto state = static_cast<std::size_t>(rows * momentWidth_);
    first_.resize(moments > 0 ? state : 0);
    second_.resize(moments > 1 ? state : 0);
    slots_.assign(static_cast<std::size_t>(rows), -1);
    used_.assign(static_cast<std::size_t>(rows), false);
}

Status EmbeddingTable::pool(const std::string& feature, const IdColumn& ids, std::int64_t rows,
                            float* out, std::int64_t stride) const {
    for (std::int64_t r = 0; r < rows; ++r, out += stride) {
        const std::int64_t from = ids.begin(r), to = ids.end(r);
        std::fill(out, out + dim_, 0.0F);
        const float total = totalOf(ids, from, to);
        for (std::int64_t i = from; i < to; ++i) {
            const std::int64_t id = ids.values[i];
            if (id < 0 || id >= rows_) {
                return wrongId(feature, id, r, name_.substr(kPrefix.size()), rows_);
            }
            const float share = total == 0 ? 0 : (ids.weights ? ids.weights[i] / total : 1 / total);
            const float* vector = row(id);
            for (std::int64_t d = 0; d < dim_; ++d) {
                out[d] += share * vector[d];
            }
        }
    }
    return okStatus();
}

float* EmbeddingTable::gradientSlot(std::int64_t id) {
    std::int32_t& slot = slots_[static_cast<std::size_t>(id)];
    if (slot < 0) {
        slot = static_cast<std::int32_t>(touched_.size());
        touched_.push_back(id);
        gradients_.resize(touched_.size() * static_cast<std::size_t>(dim_), 0.0F);
    }
    return &gradients_[static_cast<std::size_t>(slot * dim_)];
}

void EmbeddingTable::addGradients(const IdColumn& ids, std::int64_t rows, const float* gradients,
                                  std::int64_t stride) {
    for (std::int64_t r = 0; r < rows; ++r, gradients += stride) {
        const std::int64_t from = ids.begin(r), to = ids.end(r);
        const float total = totalOf(ids, from, to);
        for (std::int64_t i = from; i < to && total != 0; ++i) {
            const float share = ids.weights ? ids.weights[i] / total : 1 / total;
            float* sum = gradientSlot(ids.values[i]);
            for (std::int64_t d = 0; d < dim_; ++d) {
                sum[d] += share * gradients[d];
            }
        }
    }
}

// Format: number of touched rows, their ids, their sums.
void EmbeddingTable::appendGradients(std::string& out) const {
    const std::int64_t count = numTouched();
    out.append(reinterpret_cast<const char*>(&count), sizeof count);
    out.append(reinterpret_cast<const char*>(touched_.data()), touched_.size() * sizeof count);
    out.append(reinterpret_cast<const char*>(gradients_.data()),
               gradients_.size() * sizeof gradients_[0]);
}

Status EmbeddingTable::addFrom(std::string_view& in) {
    const auto take = [&in](std::size_t bytes) {
        const char* at = in.data();
        in.remove_prefix(bytes);
        return at;
    };
    const Status broken = internalError("ranks: gradients of ", name_, " are not whole");
    std::int64_t count = 0;
    if (in.size() < sizeof count) {
        return broken;
    }
    std::memcpy(&count, take(sizeof count), sizeof count);
    const auto width = static_cast<std::size_t>(dim_);
    if (count < 0 || static_cast<std::size_t>(count) >
                         in.size() / (sizeof count + width * sizeof gradients_[0])) {
        return broken;
    }
    const auto rows = static_cast<std::size_t>(count);
    const char* ids = take(rows * sizeof count);
    const char* sums = take(rows * width * sizeof gradients_[0]);
    std::vector<float> values(width);
    for (std::size_t i = 0; i < rows; ++i) {
        std::int64_t id = 0;
        std::memcpy(&id, ids + i * sizeof id, sizeof id);
        if (id < 0 || id >= rows_) {
            return broken;
        }
        std::memcpy(values.data(), sums + i * width * sizeof values[0], width * sizeof values[0]);
        float* to = gradientSlot(id);
        for (std::size_t d = 0; d < width; ++d) {
            to[d] += values[d];
        }
    }
    return okStatus();
}

void EmbeddingTable::apply(const OptimizerOptions& optimizer, std::int64_t updates, double weight) {
    const WeightUpdate update(optimizer, updates, weight);
    for (const std::int64_t id : touched_) {
        if (!used_[static_cast<std::size_t>(id)]) {
            used_[static_cast<std::size_t>(id)] = true;
            ++numUsed_;
        }
        const auto state = static_cast<std::size_t>(id * momentWidth_);
        update.apply(dim_, gradient(id), &values_[static_cast<std::size_t>(id * dim_)],
                     first_.empty() ? nullptr : &first_[state],
                     second_.empty() ? nullptr : &second_[state]);
    }
    clear();
}

void EmbeddingTable::clear() {
    for (const std::int64_t id : touched_) {
        slots_[static_cast<std::size_t>(id)] = -1;
    }
    touched_.clear();
    gradients_.clear();
}

const float* EmbeddingTable::gradient(std::int64_t id) const {
    const std::int32_t slot = slots_[static_cast<std::size_t>(id)];
    return slot < 0 ? nullptr : &gradients_[static_cast<std::size_t>(slot * dim_)];
}

void EmbeddingTable::appendTensors(std::vector<TensorRef>& out) {
    const std::vector<std::int64_t> shape{rows_, dim_};
    out.push_back({name_ + ".weight", DType::kFloat32, shape, values_.data(), true});
    const std::string state = "optimizer." + name_ + ".weight";
    const std::vector<std::int64_t> stateShape{rows_, momentWidth_};
    if (!first_.empty()) {
        out.push_back({state + ".first", DType::kFloat32, stateShape, first_.data()});
    }
    if (!second_.empty()) {
        out.push_back({state + ".second", DType::kFloat32, stateShape, second_.data()});
    }
}

}  // namespace millrace::train
