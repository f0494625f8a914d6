#include "backend/spec/model_kinds.h"

#include <algorithm>

#include "backend/spec/run_spec.h"
#include "backend/spec/spec_checks.h"
#include "backend/text/text.h"

namespace millrace::spec {
namespace {

void needInput(std::size_t inputs, Problems& problems) {
    if (inputs == 0) {
        problems.add("features", "missing", "features: the model has no input");
    }
}

}  // namespace

void DlrmModel::resolve(std::int64_t embeddingDim) {
    bottom = bottom.empty() ? std::vector<std::int64_t>{64, embeddingDim} : bottom;
    top = top.empty() ? std::vector<std::int64_t>{64, 1} : top;
}

void DlrmModel::check(const RunSpec& spec, Problems& problems) const {
    const std::int64_t embeddingDim = spec.model.embeddingDim;
    if (bottom.back() != embeddingDim) {
        problems.add("model.bottom", "check", "model.bottom must end with embedding_dim (",
                     embeddingDim, "), not ", bottom.back());
    }
    if (top.back() != 1) {
        problems.add("model.top", "check", "model.top must end with 1, one output a head, not ",
                     top.back());
    }
    for (const auto& [table, embedding] : spec.embeddings) {
        if (embedding.dim != embeddingDim) {
            problems.add(strCat("embeddings.", table), "check", "embeddings.", table, ".dim is ",
                         embedding.dim, "; dlrm needs model.embedding_dim (", embeddingDim, ")");
        }
    }
}

void DlrmModel::checkInputs(std::size_t dense, std::size_t embedded, Problems& problems) const {
    if (dense == 0 && embedded < 2) {
        problems.add("model.type", "check",
                     "model.type: dlrm needs a dense feature or two embedded ones; mlp takes "
                     "fewer");
    }
}

void HiddenLayers::resolve(std::int64_t /*embeddingDim*/) {
    hidden = hidden.empty() ? std::vector<std::int64_t>{64, 32} : hidden;
}

void HiddenLayers::checkInputs(std::size_t dense, std::size_t embedded, Problems& problems) const {
    needInput(dense + embedded, problems);
}

void LogisticModel::check(const RunSpec& spec, Problems& problems) const {
    const auto heads = static_cast<std::int64_t>(spec.labels.size());
    for (const auto& [table, embedding] : spec.embeddings) {
        if (embedding.dim != heads) {
            problems.add(strCat("embeddings.", table), "check", "embeddings.", table, ".dim is ",
                         embedding.dim,
                         "; logistic has one weight a head: model.embedding_dim: ", heads);
        }
    }
}

void LogisticModel::checkInputs(std::size_t dense, std::size_t embedded, Problems& problems) const {
    needInput(dense + embedded, problems);
}

void TargetMeanModel::check(const RunSpec& spec, Problems& problems) const {
    if (keys.empty()) {
        problems.add("model", "missing", "model.type target_mean needs keys: id features");
    }
    if (spec.batch.epochs > 1) {
        problems.add("batch.epochs", "check", "batch.epochs is ", spec.batch.epochs,
                     ", but target_mean sums up the rows once: more epochs would teach it "
                     "nothing; set batch.epochs: 1 beside the model");
    }
    for (const std::string& key : keys) {
        if (!isCovered(key, spec.features.ids)) {
            problems.add("model.keys", "check", "model.keys: '", key, "' is not among features.ids",
                         nameHint(key, spec.features.ids));
        }
    }
}

std::string_view modelType(const ModelBody& body) {
    return std::visit([](const auto& model) { return model.kType; }, body);
}

std::vector<std::string_view> modelKeys(const ModelBody& body) {
    std::vector<std::string_view> keys;
    const auto add = [&keys](std::string_view key, auto /*member*/, std::string_view /*doc*/,
                             const KeyLimits& /*limits*/ = {}) { keys.push_back(key); };
    std::visit([&add](const auto& model) { model.listKeys(add); }, body);
    return keys;
}

std::string_view ModelSpec::type() const {
    return modelType(body);
}

bool ModelSpec::hasTables() const {
    return std::visit([](const auto& model) { return model.kHasTables; }, body);
}

const std::vector<ModelBody>& allModels() {
    static const std::vector<ModelBody> kAll = {DlrmModel(),       MlpModel(), DcnModel(),
                                                TargetMeanModel(), NoModel(),  LogisticModel()};
    static_assert(std::variant_size_v<ModelBody> == 6, "allModels() names each");
    return kAll;
}

std::optional<ModelBody> modelBodyOf(std::string_view type) {
    const auto found = std::ranges::find_if(
        allModels(), [&](const ModelBody& body) { return modelType(body) == type; });
    return found == allModels().end() ? std::nullopt : std::optional<ModelBody>(*found);
}

}  // namespace millrace::spec
