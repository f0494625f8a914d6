#include "backend/train/torch/bags.h"

#include <algorithm>
#include <cmath>

#include <ATen/ATen.h>

#include "backend/train/torch/ordered_sums.h"

namespace millrace::train {
namespace {

// Sum of the weights below which a weighted list counts as empty.
constexpr double kWeightMin = 1e-12;

std::int64_t itemsOf(const IdColumn& ids, std::int64_t rows) {
    return ids.inverse != nullptr && ids.items >= 0 ? ids.items : rows;
}

/// Writes the bags of a batch one after the other. T: the type of weights.
template <class T>
class BagWriter {
 public:
    BagWriter(const std::vector<BagFeature>& features, const BatchView& batch) {
        bool hasBags = false, isWeighted = false;
        std::int64_t numIds = 0, numBags = 0;
        for (const BagFeature& feature : features) {
            const IdColumn& ids = batch.ids[feature.index];
            const std::int64_t items = itemsOf(ids, batch.rows);
            bags.isShared = bags.isShared || ids.inverse != nullptr;
            hasBags = hasBags || ids.inverse != nullptr || ids.offsets != nullptr;
            isWeighted = isWeighted || ids.weights != nullptr;
            numIds += ids.offsets != nullptr ? ids.offsets[items] : items;
            numBags += items;
        }
        rows_ = make<std::int64_t>(bags.rows, numIds);
        if (hasBags) {
            starts_ = make<std::int64_t>(bags.starts, numBags + 1);
            bagOfId_ = make<std::int64_t>(bags.bagOfId, numIds);
            scale_ = make<T>(bags.scale, numBags);
            bags.scale = bags.scale.view({-1, 1});
        }
        if (isWeighted) {
            weights_ = make<T>(bags.weights, numIds);
        }
    }

    void add(const BagFeature& feature, const IdColumn& ids, std::int64_t item) {
        const std::int64_t from = ids.offsets != nullptr ? ids.offsets[item] : item;
        const std::int64_t to = ids.offsets != nullptr ? ids.offsets[item + 1] : item + 1;
        double total = ids.weights != nullptr ? 0 : static_cast<double>(to - from);
        for (std::int64_t i = from; i < to; ++i, ++numIds) {
            const std::int64_t id = ids.values[i];
            const bool isInside = id >= 0 && id < feature.numRows;
            bags.isWrong |= !isInside;
            rows_[numIds] = feature.start + (isInside ? id : 0);
            if (bagOfId_ != nullptr) {
                bagOfId_[numIds] = numBags;
            }
            if (weights_ != nullptr) {
                weights_[numIds] = ids.weights != nullptr ? T(ids.weights[i]) : T(1);
                total += ids.weights != nullptr ? ids.weights[i] : 0;
            }
        }
        if (starts_ != nullptr) {
            starts_[numBags] = numIds - (to - from);
            starts_[numBags + 1] = numIds;
            scale_[numBags] = std::abs(total) < kWeightMin ? T(0) : T(1 / total);
        }
        ++numBags;
    }

    template <class V>
    static V* make(at::Tensor& to, std::int64_t size) {
        to = at::empty({size}, c10::CppTypeToScalarType<V>::value);
        return to.template data_ptr<V>();
    }

    Bags bags;
    std::int64_t numIds = 0, numBags = 0;  ///< so far

 private:
    std::int64_t *rows_ = nullptr, *starts_ = nullptr, *bagOfId_ = nullptr;
    T *scale_ = nullptr, *weights_ = nullptr;
};

template <class T>
Bags written(const std::vector<BagFeature>& features, const BatchView& batch) {
    BagWriter<T> writer(features, batch);
    if (!writer.bags.isShared) {
        for (std::int64_t r = 0; r < batch.rows; ++r) {
            for (const BagFeature& feature : features) {
                writer.add(feature, batch.ids[feature.index], r);
            }
        }
    } else {
        const auto width = static_cast<std::int64_t>(features.size());
        auto* cell =
            BagWriter<T>::template make<std::int64_t>(writer.bags.cells, batch.rows * width);
        for (const BagFeature& feature : features) {
            const IdColumn& ids = batch.ids[feature.index];
            for (std::int64_t r = 0; r < batch.rows; ++r) {
                cell[r * width] = writer.numBags + ids.itemAt(r);
            }
            ++cell;
            for (std::int64_t item = 0; item < itemsOf(ids, batch.rows); ++item) {
                writer.add(feature, ids, item);
            }
        }
    }
    return writer.bags;
}

/// Joins tensors. Adjacent ones, like the columns of a frame, need no copy.
at::Tensor joined(const std::vector<at::Tensor>& parts) {
    std::int64_t end = parts[0].storage_offset(), total = 0;
    for (const at::Tensor& part : parts) {
        if (part.storage().data() != parts[0].storage().data() || part.storage_offset() != end) {
            return at::cat(parts);
        }
        end += part.numel();
        total += part.numel();
    }
    return parts[0].as_strided({total}, {1}, parts[0].storage_offset());
}

at::Tensor valuesOf(const std::vector<BagFeature>& features, const BatchTensors& batch) {
    std::vector<at::Tensor> values;
    for (const BagFeature& feature : features) {
        values.push_back(batch.ids[feature.index].values);
    }
    return joined(values);
}

/// Sets rows and isWrong. `limits`: [2, ...] as bagsOfTensors() has them, for each value.
void findRows(Bags& bags, const at::Tensor& values, const at::Tensor& limits) {
    const at::Tensor inside = at::minimum(values.clamp_min(0), limits[1]);
    bags.isWrong = (inside != values).any().item<bool>();
    bags.rows = (inside + limits[0]).reshape({-1});
}

template <class IsSo>
bool has(const std::vector<BagFeature>& features, const BatchTensors& batch, IsSo isSo) {
    return std::any_of(features.begin(), features.end(),
                       [&](const BagFeature& feature) { return isSo(batch.ids[feature.index]); });
}

at::Tensor weightsOf(const std::vector<BagFeature>& features, const BatchTensors& batch,
                     const at::TensorOptions& options) {
    std::vector<at::Tensor> weights;
    for (const BagFeature& feature : features) {
        const IdTensors& ids = batch.ids[feature.index];
        weights.push_back(ids.weights.defined() ? ids.weights.to(options)
                                                : at::ones({ids.count}, options));
    }
    return at::cat(weights);
}

/// The first values of a vector, in one call.
at::Tensor firstOf(const at::Tensor& values, std::int64_t count) {
    return values.as_strided({count}, {1}, values.storage_offset());
}

/// Sets starts, bagOfId, weights and scale. `all`: numbers from 0, as many as any feature's items.
void findBags(Bags& bags, const std::vector<BagFeature>& features, const BatchTensors& batch,
              const at::Tensor& all, const at::TensorOptions& options) {
    std::vector<at::Tensor> starts;
    std::vector<std::int64_t> before, items;
    std::int64_t count = 0;
    for (const BagFeature& feature : features) {
        const IdTensors& ids = batch.ids[feature.index];
        starts.push_back(firstOf(ids.offsets.defined() ? ids.offsets : all, ids.items));
        before.push_back(count);
        items.push_back(ids.items);
        count += ids.count;
    }
    starts.push_back(firstOf(all, 1));
    before.push_back(count);
    items.push_back(1);
    bags.starts = at::cat(starts) +
                  longsOn(all.device(), before).repeat_interleave(longsOn(all.device(), items));
    const std::int64_t numBags = bags.starts.size(0) - 1;
    const at::Tensor lengths =
        bags.starts.narrow(0, 1, numBags) - bags.starts.narrow(0, 0, numBags);
    bags.bagOfId = at::repeat_interleave(lengths, std::optional<std::int64_t>(count));
    if (has(features, batch, [](const IdTensors& ids) { return ids.weights.defined(); })) {
        bags.weights = weightsOf(features, batch, options);
    }
    const at::Tensor totals =
        bags.weights.defined()
            ? OrderedSums::bagSums(bags.weights.view({-1, 1}), at::arange(count, all.options()),
                                   bags.starts, at::Tensor())
            : lengths.to(options).view({-1, 1});
    bags.scale = totals.reciprocal().masked_fill_(totals.abs() < kWeightMin, 0);
}

}  // namespace

at::Tensor longsOn(const at::Device& device, const std::vector<std::int64_t>& values) {
    return at::from_blob(const_cast<std::int64_t*>(values.data()),
                         {static_cast<std::int64_t>(values.size())}, at::kLong)
        .to(device, false, true);
}

Bags bagsOnHost(const std::vector<BagFeature>& features, const BatchView& batch,
                at::ScalarType type) {
    return type == at::kDouble ? written<double>(features, batch) : written<float>(features, batch);
}

Bags bagsOfTensors(const std::vector<BagFeature>& features, const at::Tensor& limits,
                   const BatchTensors& batch, at::ScalarType type) {
    Bags bags;
    const at::Tensor values = valuesOf(features, batch);
    const auto width = static_cast<std::int64_t>(features.size());
    bags.isShared =
        has(features, batch, [](const IdTensors& ids) { return ids.inverse.defined(); });
    if (!bags.isShared &&
        !has(features, batch, [](const IdTensors& ids) { return ids.offsets.defined(); })) {
        findRows(bags, values.view({width, batch.rows}).t(), limits.unsqueeze(1));
        return bags;
    }
    std::vector<std::int64_t> counts, firstBags;
    std::vector<at::Tensor> items;
    std::int64_t numBags = 0, most = batch.rows;
    for (const BagFeature& feature : features) {
        const IdTensors& ids = batch.ids[feature.index];
        counts.push_back(ids.count);
        firstBags.push_back(numBags);
        numBags += ids.items;
        most = std::max(most, ids.items);
    }
    const at::Tensor all = at::arange(most, values.options());
    const at::Tensor everyRow = firstOf(all, batch.rows);
    for (const BagFeature& feature : features) {
        const at::Tensor& inverse = batch.ids[feature.index].inverse;
        items.push_back(inverse.defined() ? inverse : everyRow);
    }
    findRows(bags, values,
             limits.repeat_interleave(longsOn(values.device(), counts), 1, values.numel()));
    findBags(bags, features, batch, all, values.options().dtype(type));
    bags.cells =
        (at::cat(items).view({width, batch.rows}).t() + longsOn(values.device(), firstBags))
            .reshape({-1});
    return bags;
}

}  // namespace millrace::train
