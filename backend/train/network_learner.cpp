#include "backend/train/network_learner.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "backend/train/network_shape.h"
#include "backend/train/part_timer.h"

namespace millrace::train {
Result<std::unique_ptr<Learner>> NetworkLearner::make(const LearnerOptions& options, Group& group) {
    const NetworkOptions network = networkOf(options);
    std::string error;
    std::unique_ptr<DenseNetwork> made = makeTorchNetwork(network, error);
    if (!made) {
        return internalError("train: LibTorch refused the model: ", error);
    }
    return std::unique_ptr<Learner>(new NetworkLearner(options, std::move(made), group));
}

NetworkLearner::NetworkLearner(const LearnerOptions& options, std::unique_ptr<DenseNetwork> network,
                               Group& group)
    : options_(options), group_(group), network_(std::move(network)), scaler_(options.denseWidth) {
    for (const TableOptions& table : options.tables) {
        tables_.emplace_back(table.name, table.rows, table.dim, options.ofTables(), options.seed);
    }
    for (const FeatureOptions& feature : options.features) {
        offsets_.push_back(vectorsWidth_);
        vectorsWidth_ += tables_[static_cast<std::size_t>(feature.table)].dim();
    }
    initialise();
}

void NetworkLearner::initialise() {
    const int moments = numMoments(options_.optimizer);
    for (const NetworkParameter& p : network_->parameters()) {
        fillUniform(options_.seed, p.name, layerBound(p.shape), p.size, p.values);
        first_.emplace_back(moments > 0 ? static_cast<std::size_t>(p.size) : 0);
        second_.emplace_back(moments > 1 ? static_cast<std::size_t>(p.size) : 0);
    }
}

Status NetworkLearner::forward(const BatchView& batch, bool keepsGraph) {
    scaler_.scale(batch, dense_);
    vectors_.resize(static_cast<std::size_t>(batch.rows * vectorsWidth_));
    for (std::size_t f = 0; f < options_.features.size(); ++f) {
        const FeatureOptions& feature = options_.features[f];
        RETURN_IF_ERROR(tables_[static_cast<std::size_t>(feature.table)].pool(
            feature.name, batch.ids[f], batch.rows, vectors_.data() + offsets_[f], vectorsWidth_));
    }
    logits_.resize(static_cast<std::size_t>(batch.rows) * options_.heads.size());
    const Dropout dropout{options_.dropout, options_.seed, &batch};
    const std::string error =
        network_->forward(batch.rows, dense_.data(), vectors_.data(), logits_.data(), keepsGraph,
                          keepsGraph && dropout.share > 0 ? &dropout : nullptr);
    return error.empty() ? okStatus() : internalError("train: LibTorch, forward: ", error);
}

Status NetworkLearner::accumulate(const BatchView& batch, LossSums& sums) {
    RETURN_IF_ERROR(checkBatch(options_, batch));
    if (batch.rows == 0) {
        return okStatus();
    }
    RETURN_IF_ERROR(forwardToLoss(batch, sums));
    const PartTimer timer(times_.backward);
    vectorGradients_.resize(vectors_.size());
    const std::string error = network_->backward(logitGradients_.data(), vectorGradients_.data());
    if (!error.empty()) {
        return internalError("train: LibTorch, backward: ", error);
    }
    for (std::size_t f = 0; f < options_.features.size(); ++f) {
        tables_[static_cast<std::size_t>(options_.features[f].table)].addGradients(
            batch.ids[f], batch.rows, vectorGradients_.data() + offsets_[f], vectorsWidth_);
    }
    return okStatus();
}

Status NetworkLearner::forwardToLoss(const BatchView& batch, LossSums& sums) {
    const PartTimer timer(times_.forward);
    if (!scaler_.isStarted()) {
        RETURN_IF_ERROR(scaler_.start(&batch, group_));
    }
    scaler_.observe(batch);
    RETURN_IF_ERROR(forward(batch, true));
    lossGradients(batch, logits_, logitGradients_, sums);
    if (stepRows_ == 0) {
        notFinite_.clear();
    }
    if (!std::isfinite(sums.totalLoss())) {
        findNotFinite(batch, logits_, stepRows_, notFinite_);
    }
    stepRows_ += batch.rows;
    return okStatus();
}

std::vector<TableUse> NetworkLearner::tableUse() const {
    std::vector<TableUse> out;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
        out.push_back({options_.tables[t].name, tables_[t].numUsed(), tables_[t].rows()});
    }
    return out;
}

void NetworkLearner::clearGradients() {
    for (const NetworkParameter& p : network_->parameters()) {
        std::fill(p.gradient, p.gradient + p.size, 0.0F);
    }
    for (EmbeddingTable& table : tables_) {
        table.clear();
    }
}

double NetworkLearner::divisorOf(double weight, UpdateFigures* figures) {
    if (options_.clipNorm == 0 && figures == nullptr) {
        return weight;
    }
    double squares = 0;
    for (const NetworkParameter& p : network_->parameters()) {
        squares += sumOfSquares(p.gradient, p.size);
    }
    for (const EmbeddingTable& table : tables_) {
        squares += table.squaredGradients();
    }
    const double norm = std::sqrt(squares) / weight;
    if (figures != nullptr) {
        figures->gradientNorm = norm;
    }
    return weight * clipDivisor(norm, options_.clipNorm);
}

Status NetworkLearner::communicate(bool isUpdate) {
    const PartTimer timer(group_.size() > 1 ? times_.communication : times_.optimizer);
    if (!scaler_.isStarted()) {
        RETURN_IF_ERROR(scaler_.start(nullptr, group_));
    }
    RETURN_IF_ERROR(scaler_.endStep(group_));
    if (isUpdate && group_.size() > 1) {
        RETURN_IF_ERROR(sumLayersOverRanks());
        RETURN_IF_ERROR(sumTablesOverRanks());
    }
    return okStatus();
}

Status NetworkLearner::sumLayersOverRanks() {
    layers_.clear();
    for (const NetworkParameter& p : network_->parameters()) {
        layers_.insert(layers_.end(), p.gradient, p.gradient + p.size);
    }
    RETURN_IF_ERROR(group_.sum(std::span(layers_)));
    const float* from = layers_.data();
    for (const NetworkParameter& p : network_->parameters()) {
        std::copy(from, from + p.size, p.gradient);
        from += p.size;
    }
    return okStatus();
}

// Rank 0 adds up the other ranks' gradients in rank order, and all ranks take its sums.
Status NetworkLearner::sumTablesOverRanks() {
    const auto own = [this] {
        std::string out;
        for (const EmbeddingTable& table : tables_) {
            table.appendGradients(out);
        }
        return out;
    };
    const auto add = [this](std::string_view from) {
        for (EmbeddingTable& table : tables_) {
            RETURN_IF_ERROR(table.addFrom(from));
        }
        return from.empty() ? okStatus() : internalError("ranks: gradients of more tables");
    };
    const bool isFirst = group_.rank() == 0;
    ASSIGN_OR_RETURN(const std::vector<std::string> all,
                     group_.collect(isFirst ? std::string() : own()));
    for (std::size_t rank = 1; rank < all.size(); ++rank) {
        RETURN_IF_ERROR(add(all[rank]));
    }
    ASSIGN_OR_RETURN(const std::string sums, group_.ofFirst(isFirst ? own() : std::string()));
    if (isFirst) {
        return okStatus();
    }
    for (EmbeddingTable& table : tables_) {
        table.clear();
    }
    return add(sums);
}

Status NetworkLearner::apply(double weight, UpdateFigures* figures) {
    const bool isUpdate = weight > 0 && std::isfinite(weight);
    RETURN_IF_ERROR(communicate(isUpdate));
    stepRows_ = 0;
    if (isUpdate) {
        update(weight, figures);
    }
    clearGradients();
    return checkStepWeight(weight);
}

// The gradients are already those of all ranks: each rank makes the same update.
void NetworkLearner::update(double weight, UpdateFigures* figures) {
    const PartTimer timer(times_.optimizer);
    ++updates_;
    const double divisor = divisorOf(weight, figures);
    const OptimizerOptions optimizer = scheduled(options_.optimizer, options_.schedule, updates_);
    const OptimizerOptions ofTables = scheduled(options_.ofTables(), options_.schedule, updates_);
    if (figures != nullptr) {
        figures->learningRate = optimizer.learningRate;
        figures->tableLearningRate = ofTables.learningRate;
        for (const EmbeddingTable& table : tables_) {
            figures->rowsTouched += table.numTouched();
        }
    }
    const WeightUpdate ofLayers(optimizer, updates_, divisor);
    const std::vector<NetworkParameter>& parameters = network_->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const NetworkParameter& p = parameters[i];
        ofLayers.apply(p.size, p.gradient, p.values, first_[i].empty() ? nullptr : first_[i].data(),
                       second_[i].empty() ? nullptr : second_[i].data());
    }
    for (EmbeddingTable& table : tables_) {
        table.apply(ofTables, updates_, divisor);
    }
}

Status NetworkLearner::predict(const BatchView& batch, std::vector<double>& probabilities) {
    RETURN_IF_ERROR(checkBatch(options_, batch));
    probabilities.clear();
    if (batch.rows == 0) {
        return okStatus();
    }
    RETURN_IF_ERROR(forward(batch, false));
    for (const float logit : logits_) {
        probabilities.push_back(sigmoid(logit));
    }
    return okStatus();
}

std::vector<TensorRef> NetworkLearner::tensors() {
    std::vector<TensorRef> out;
    const std::vector<NetworkParameter>& parameters = network_->parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const NetworkParameter& p = parameters[i];
        out.push_back({p.name, DType::kFloat32, p.shape, p.values, true});
        if (!first_[i].empty()) {
            out.push_back(
                {"optimizer." + p.name + ".first", DType::kFloat32, p.shape, first_[i].data()});
        }
        if (!second_[i].empty()) {
            out.push_back(
                {"optimizer." + p.name + ".second", DType::kFloat32, p.shape, second_[i].data()});
        }
    }
    for (EmbeddingTable& table : tables_) {
        table.appendTensors(out);
    }
    scaler_.appendTensors(out);
    out.push_back({"optimizer.updates", DType::kInt64, {1}, &updates_});
    std::sort(out.begin(), out.end(),
              [](const TensorRef& a, const TensorRef& b) { return a.name < b.name; });
    return out;
}

Status NetworkLearner::restore(const Checkpoint& checkpoint) {
    RETURN_IF_ERROR(copyTensors(checkpoint, tensors()));
    scaler_.restored();
    return okStatus();
}

Result<std::vector<std::string>> NetworkLearner::begin(const InitFrom& from) {
    ASSIGN_OR_RETURN(std::vector<std::string> left, copyMatching(from, tensors()));
    scaler_.restored();
    return left;
}

}  // namespace millrace::train
