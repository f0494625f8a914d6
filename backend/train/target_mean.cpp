#include "backend/train/target_mean.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "backend/text/text.h"

namespace millrace::train {
namespace {

constexpr double kMargin = 1e-6;

}  // namespace

void TargetMean::Sums::clear() {
    std::ranges::fill(total, Mean{});
    for (auto& key : keys) {
        key.clear();
    }
}

void TargetMean::Sums::merge(const Sums& other) {
    const auto add = [](std::vector<Mean>& to, const std::vector<Mean>& from) {
        to.resize(from.size());
        for (std::size_t h = 0; h < from.size(); ++h) {
            to[h].sum += from[h].sum;
            to[h].weight += from[h].weight;
        }
    };
    add(total, other.total);
    for (std::size_t k = 0; k < keys.size(); ++k) {
        for (const auto& [id, means] : other.keys[k]) {
            add(keys[k][id], means);
        }
    }
}

Result<std::unique_ptr<Learner>> TargetMean::make(const LearnerOptions& options) {
    if (options.heads.empty()) {
        return invalidArgument("labels: at least one is needed to train");
    }
    if (options.keys.empty()) {
        return invalidArgument("model.keys: target_mean needs at least one feature");
    }
    if (!(options.smoothing >= 0) || !std::isfinite(options.smoothing)) {
        return invalidArgument("model.smoothing: must be a number of rows, at least 0");
    }
    std::vector<std::string> names;
    for (const FeatureOptions& feature : options.features) {
        names.push_back(feature.name);
    }
    std::vector<std::size_t> places;
    for (const std::string& key : options.keys) {
        const auto found = std::ranges::find(names, key);
        if (found == names.end()) {
            return invalidArgument("model.keys: '", key, "' is not an id or list feature",
                                   nameHint(key, names));
        }
        places.push_back(static_cast<std::size_t>(found - names.begin()));
    }
    return std::unique_ptr<Learner>(new TargetMean(options, std::move(places)));
}

TargetMean::TargetMean(const LearnerOptions& options, std::vector<std::size_t> features)
    : options_(options), features_(std::move(features)) {
    for (Sums* sums : {&sums_, &step_}) {
        sums->total.resize(options.heads.size());
        sums->keys.resize(features_.size());
    }
}

Status TargetMean::checkShape(const BatchView& batch) const {
    if (batch.ids.size() != options_.features.size() ||
        batch.heads.size() != options_.heads.size()) {
        return internalError("train: a frame has ", batch.ids.size(), " id features and ",
                             batch.heads.size(), " heads; the model has ", options_.features.size(),
                             " and ", options_.heads.size());
    }
    return okStatus();
}

void TargetMean::observe(const BatchView& batch, std::size_t head, std::int64_t row,
                         Sums& sums) const {
    const HeadColumn& column = batch.heads[head];
    if (column.masks && !column.masks[row]) {
        return;
    }
    const double weight = column.weights ? column.weights[row] : 1;
    const double label = column.labels[row];
    const auto add = [&](std::vector<Mean>& means) {
        means.resize(options_.heads.size());
        means[head].sum += weight * label;
        means[head].weight += weight;
    };
    add(sums.total);
    for (std::size_t k = 0; k < features_.size(); ++k) {
        const IdColumn& ids = batch.ids[features_[k]];
        for (std::int64_t i = ids.begin(row); i < ids.end(row); ++i) {
            add(sums.keys[k][ids.values[i]]);
        }
    }
}

Status TargetMean::accumulate(const BatchView& batch, LossSums& sums) {
    std::vector<double> probabilities;
    RETURN_IF_ERROR(predict(batch, probabilities));
    addLoss(batch, probabilities, sums);
    for (std::size_t head = 0; head < options_.heads.size(); ++head) {
        for (std::int64_t row = 0; row < batch.rows; ++row) {
            observe(batch, head, row, step_);
        }
    }
    return okStatus();
}

Status TargetMean::apply(double weight, UpdateFigures* /*figures*/) {
    if (!std::isfinite(weight) || weight < 0) {
        step_.clear();
        return invalidArgument("train: the weights of a step add up to ", weight,
                               "; they must not be negative or infinite");
    }
    if (weight > 0) {
        sums_.merge(step_);
    }
    step_.clear();
    return okStatus();
}

double TargetMean::keyShift(const BatchView& batch, std::size_t key, std::int64_t row,
                            std::size_t head, double global) const {
    const IdColumn& ids = batch.ids[features_[key]];
    const std::int64_t from = ids.begin(row), to = ids.end(row);
    double shift = 0;
    for (std::int64_t i = from; i < to; ++i) {
        const auto found = sums_.keys[key].find(ids.values[i]);
        if (found == sums_.keys[key].end()) {
            continue;
        }
        const Mean& mean = found->second[head];
        const double weight = mean.weight + options_.smoothing;
        if (weight > 0) {
            shift += (mean.sum + options_.smoothing * global) / weight - global;
        }
    }
    return from < to ? shift / static_cast<double>(to - from) : 0;
}

Status TargetMean::predict(const BatchView& batch, std::vector<double>& probabilities) {
    RETURN_IF_ERROR(checkShape(batch));
    const std::size_t heads = options_.heads.size();
    probabilities.resize(static_cast<std::size_t>(batch.rows) * heads);
    for (std::size_t head = 0; head < heads; ++head) {
        const Mean& total = sums_.total[head];
        const double global = total.weight > 0 ? total.sum / total.weight : 0.5;
        for (std::int64_t row = 0; row < batch.rows; ++row) {
            double p = global;
            for (std::size_t k = 0; k < features_.size(); ++k) {
                p += keyShift(batch, k, row, head, global);
            }
            probabilities[static_cast<std::size_t>(row) * heads + head] =
                std::clamp(p, kMargin, 1 - kMargin);
        }
    }
    return okStatus();
}

std::vector<TensorRef> TargetMean::tensors() {
    const auto heads = static_cast<std::int64_t>(options_.heads.size());
    std::vector<TensorRef> out;
    totals_.clear();
    for (const Mean& mean : sums_.total) {
        totals_.insert(totals_.end(), {mean.sum, mean.weight});
    }
    exported_.assign(features_.size(), {});
    for (std::size_t k = 0; k < features_.size(); ++k) {
        KeyTensors& key = exported_[k];
        for (const auto& entry : sums_.keys[k]) {
            key.ids.push_back(entry.first);
        }
        std::ranges::sort(key.ids);
        for (const std::int64_t id : key.ids) {
            for (const Mean& mean : sums_.keys[k].at(id)) {
                key.sums.push_back(mean.sum);
                key.weights.push_back(mean.weight);
            }
        }
        const auto size = static_cast<std::int64_t>(key.ids.size());
        const std::string prefix = strCat("key.", options_.keys[k]);
        out.push_back({prefix + ".ids", DType::kInt64, {size}, key.ids.data(), true});
        out.push_back({prefix + ".sums", DType::kFloat64, {size, heads}, key.sums.data(), true});
        out.push_back(
            {prefix + ".weights", DType::kFloat64, {size, heads}, key.weights.data(), true});
    }
    out.push_back({"total", DType::kFloat64, {heads, 2}, totals_.data(), true});
    std::ranges::sort(out, [](const TensorRef& a, const TensorRef& b) { return a.name < b.name; });
    return out;
}

Status TargetMean::restore(const Checkpoint& checkpoint) {
    const auto heads = static_cast<std::int64_t>(options_.heads.size());
    const auto get = [&](const std::string& name, DType type, std::vector<std::int64_t> shape,
                         const TensorRef*& out) -> Status {
        out = checkpoint.find(name);
        if (!out || out->type != type || (shape[0] >= 0 && out->shape != shape)) {
            return failedPrecondition(checkpoint.path(), ": holds no tensor ", name, " of ",
                                      options_.heads.size(), " heads for a target_mean model");
        }
        return okStatus();
    };
    Sums read;
    read.total.resize(options_.heads.size());
    read.keys.resize(features_.size());
    const TensorRef* total = nullptr;
    RETURN_IF_ERROR(get("total", DType::kFloat64, {heads, 2}, total));
    std::memcpy(read.total.data(), total->data, static_cast<std::size_t>(total->numBytes()));
    for (std::size_t k = 0; k < features_.size(); ++k) {
        const std::string prefix = strCat("key.", options_.keys[k]);
        const TensorRef *ids = nullptr, *sums = nullptr, *weights = nullptr;
        RETURN_IF_ERROR(get(prefix + ".ids", DType::kInt64, {-1}, ids));
        const std::int64_t size = ids->numElements();
        RETURN_IF_ERROR(get(prefix + ".sums", DType::kFloat64, {size, heads}, sums));
        RETURN_IF_ERROR(get(prefix + ".weights", DType::kFloat64, {size, heads}, weights));
        for (std::int64_t i = 0; i < size; ++i) {
            std::vector<Mean>& means = read.keys[k][static_cast<const std::int64_t*>(ids->data)[i]];
            for (std::int64_t h = 0; h < heads; ++h) {
                means.push_back({static_cast<const double*>(sums->data)[i * heads + h],
                                 static_cast<const double*>(weights->data)[i * heads + h]});
            }
        }
    }
    sums_ = std::move(read);
    step_.clear();
    return okStatus();
}

}  // namespace millrace::train
