#include "backend/train/network_shape.h"

#include <cmath>

#include "backend/core/philox.h"

namespace millrace::train {
namespace {

Status checkLayers(const char* key, const std::vector<std::int64_t>& sizes) {
    for (const std::int64_t size : sizes) {
        if (size < 1) {
            return invalidArgument("model.", key, ": layer sizes are at least 1, not ", size);
        }
    }
    return okStatus();
}

Status checkTables(const LearnerOptions& o) {
    for (const TableOptions& table : o.tables) {
        if (table.rows < 1 || table.dim < 1) {
            return invalidArgument("embeddings.", table.name, ": rows and dim are at least 1");
        }
        if (o.model == "dlrm" && table.dim != o.embeddingDim) {
            return invalidArgument("embeddings.", table.name,
                                   ".dim: dlrm multiplies all vectors "
                                   "with each other, so it must be model.embedding_dim (",
                                   o.embeddingDim, "), not ", table.dim);
        }
    }
    for (const FeatureOptions& feature : o.features) {
        if (feature.table < 0 || feature.table >= static_cast<int>(o.tables.size())) {
            return invalidArgument("features: ", feature.name, " has no embedding table");
        }
    }
    return okStatus();
}

Status checkLogistic(const LearnerOptions& o) {
    for (const TableOptions& table : o.tables) {
        if (table.dim != static_cast<std::int64_t>(o.heads.size())) {
            return invalidArgument("embeddings.", table.name,
                                   ".dim: logistic has one weight a head, so it must be ",
                                   o.heads.size(), ", not ", table.dim);
        }
    }
    return okStatus();
}

Status checkDlrm(const LearnerOptions& o) {
    RETURN_IF_ERROR(checkLayers("bottom", o.bottom));
    RETURN_IF_ERROR(checkLayers("top", o.top));
    if (o.denseWidth > 0 && (o.bottom.empty() || o.bottom.back() != o.embeddingDim)) {
        return invalidArgument("model.bottom: the last size must be model.embedding_dim (",
                               o.embeddingDim, ")");
    }
    if (o.top.empty() || o.top.back() != 1) {
        return invalidArgument("model.top: the last size must be 1 (one output a head)");
    }
    if (o.denseWidth == 0 && o.features.size() < 2) {
        return invalidArgument("model.type: dlrm needs a dense feature or two embedded ones");
    }
    return okStatus();
}

}  // namespace

Status checkNetwork(const LearnerOptions& o) {
    if (o.heads.empty()) {
        return invalidArgument("labels: at least one is needed to train");
    }
    if (o.denseWidth == 0 && o.features.empty()) {
        return invalidArgument("features: the model has no input");
    }
    if (!(o.optimizer.learningRate > 0) || !std::isfinite(o.optimizer.learningRate)) {
        return invalidArgument("train.learning_rate: must be a positive number");
    }
    RETURN_IF_ERROR(checkTables(o));
    if (o.model == "dlrm") {
        return checkDlrm(o);
    }
    if (o.model == "dcn_v2" && (o.crossLayers < 1 || o.crossRank < 0)) {
        return invalidArgument("model.cross_layers: dcn_v2 has at least one");
    }
    return o.model == "logistic" ? checkLogistic(o) : checkLayers("hidden", o.hidden);
}

// A uniform draw in +-bound has the standard deviation bound / sqrt(3).
float layerBound(const std::vector<std::int64_t>& shape) {
    const auto outputs = static_cast<double>(shape[0]);
    const double deviation = shape.size() > 1
                                 ? std::sqrt(2 / (outputs + static_cast<double>(shape[1])))
                                 : std::sqrt(1 / outputs);
    return static_cast<float>(deviation * std::sqrt(3.0));
}

float tableBound(std::int64_t rows) {
    return 1 / std::sqrt(static_cast<float>(rows));
}

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

Status checkBatch(const LearnerOptions& options, const BatchView& batch) {
    if (batch.denseWidth() != options.denseWidth || batch.ids.size() != options.features.size() ||
        batch.heads.size() != options.heads.size()) {
        return internalError("train: a frame has ", batch.denseWidth(), " dense values, ",
                             batch.ids.size(), " id features and ", batch.heads.size(),
                             " heads; the model has ", options.denseWidth, ", ",
                             options.features.size(), " and ", options.heads.size());
    }
    return okStatus();
}

Status checkStepWeight(double weight) {
    if (!std::isfinite(weight) || weight < 0) {
        return invalidArgument("train: the weights of a step add up to ", weight,
                               "; they must not be negative or infinite");
    }
    return okStatus();
}

Status wrongId(const std::string& feature, std::int64_t id, std::int64_t row,
               const std::string& table, std::int64_t rows) {
    return invalidArgument("feature ", feature, ": id ", id, " in row ", row,
                           " of the micro-batch is outside its table of ", rows,
                           " rows (embedding.", table, ")");
}

Status findWrongId(const LearnerOptions& options, const BatchView& batch) {
    for (std::size_t f = 0; f < options.features.size(); ++f) {
        const FeatureOptions& feature = options.features[f];
        const TableOptions& table = options.tables[static_cast<std::size_t>(feature.table)];
        for (std::int64_t r = 0; r < batch.rows; ++r) {
            for (std::int64_t i = batch.ids[f].begin(r); i < batch.ids[f].end(r); ++i) {
                const std::int64_t id = batch.ids[f].values[i];
                if (id < 0 || id >= table.rows) {
                    return wrongId(feature.name, id, r, table.name, table.rows);
                }
            }
        }
    }
    return okStatus();
}

}  // namespace millrace::train
