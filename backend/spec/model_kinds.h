#pragma once
// The built-in models in a spec, one struct each. Threads: values.
//
// JSON holds the keys of all of them; keys of other models have their defaults.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "backend/spec/key_table.h"

namespace millrace::spec {

class Problems;
struct RunSpec;

/// Properties of a model with their defaults.
struct ModelDefaults {
    /// Its weights are learned in steps, over embedding tables.
    static constexpr bool kHasTables = false;
    /// Its keys are in the JSON of every model, for compatibility; else only in its own.
    static constexpr bool kIsInAll = true;

    /// Fills in values that depend on other keys.
    void resolve(std::int64_t /*embeddingDim*/) {}
    /// Checks what must fit together in the spec; `spec` has this model.
    void check(const RunSpec& /*spec*/, Problems& /*problems*/) const {}
    /// Checks that it has the inputs it needs: numbers of dense and of embedded features.
    void checkInputs(std::size_t /*dense*/, std::size_t /*embedded*/,
                     Problems& /*problems*/) const {}
};

struct DlrmModel : ModelDefaults {
    static constexpr std::string_view kType = "dlrm";
    static constexpr bool kHasTables = true;
    std::vector<std::int64_t> bottom;  ///< widths; the last is embeddingDim
    std::vector<std::int64_t> top;     ///< widths; the last is 1 (one output per head)

    static void listKeys(auto& a) {
        a("bottom", &DlrmModel::bottom,
          "dlrm: layers over the dense features; the last is `embedding_dim`; default "
          "[64, embedding_dim]",
          {.min = 1, .max = 1e6});
        a("top", &DlrmModel::top,
          "dlrm: layers over the interactions; the last is 1 (one output for each head); default "
          "[64, 1]",
          {.min = 1, .max = 1e6});
    }
    void resolve(std::int64_t embeddingDim);
    void check(const RunSpec& spec, Problems& problems) const;
    void checkInputs(std::size_t dense, std::size_t embedded, Problems& problems) const;
};

struct HiddenLayers : ModelDefaults {
    static constexpr bool kHasTables = true;
    std::vector<std::int64_t> hidden;  ///< widths

    static void listKeys(auto& a) {
        a("hidden", &HiddenLayers::hidden,
          "mlp, dcn_v2: layers before the output; default [64, 32]", {.min = 1, .max = 1e6});
    }
    void resolve(std::int64_t embeddingDim);
    void checkInputs(std::size_t dense, std::size_t embedded, Problems& problems) const;
};

struct MlpModel : HiddenLayers {
    static constexpr std::string_view kType = "mlp";
};

/// Explicit crosses of all inputs, then layers (DCN V2, Wang et al. 2020).
struct DcnModel : HiddenLayers {
    static constexpr std::string_view kType = "dcn_v2";
    static constexpr bool kIsInAll = false;
    std::int64_t crossLayers = 3;
    std::int64_t crossRank = 0;  ///< rank of a cross layer's matrix; 0: full

    static void listKeys(auto& a) {
        HiddenLayers::listKeys(a);
        a("cross_layers", &DcnModel::crossLayers,
          "dcn_v2: layers that multiply all inputs with each other", {.min = 1, .max = 64});
        a("cross_rank", &DcnModel::crossRank,
          "dcn_v2: rank of a cross layer's matrix, stored as a product of two matrices; 0: full "
          "rank",
          {.min = 0, .max = 1e6});
    }
};

/// One weight per dense feature and per id: the baseline with gradients.
struct LogisticModel : ModelDefaults {
    static constexpr std::string_view kType = "logistic";
    static constexpr bool kHasTables = true;
    static constexpr bool kIsInAll = false;

    static void listKeys(auto& /*a*/) {}
    void check(const RunSpec& spec, Problems& problems) const;
    void checkInputs(std::size_t dense, std::size_t embedded, Problems& problems) const;
};

/// The baseline without gradients.
struct TargetMeanModel : ModelDefaults {
    static constexpr std::string_view kType = "target_mean";
    std::vector<std::string> keys;  ///< id features
    double smoothing = 5;           ///< weight of the prior, in rows

    static void listKeys(auto& a) {
        a("keys", &TargetMeanModel::keys, "target_mean: id features whose means are taken");
        a("smoothing", &TargetMeanModel::smoothing,
          "target_mean: weight of the overall mean, in rows",
          {.min = 0, .max = 1e12, .unit = "rows"});
    }
    void check(const RunSpec& spec, Problems& problems) const;
};

/// For the user's own ranks (`command`), which have their own model.
struct NoModel : ModelDefaults {
    static constexpr std::string_view kType = "";
    static void listKeys(auto& /*a*/) {}
};

using ModelBody =
    std::variant<DlrmModel, MlpModel, DcnModel, TargetMeanModel, NoModel, LogisticModel>;

struct ModelSpec {
    std::int64_t embeddingDim = 16;
    ModelBody body;

    /// Its kType; "" with `command`.
    std::string_view type() const;
    bool hasTables() const;
    /// Null if it is another model.
    template <class T>
    const T* as() const {
        return std::get_if<T>(&body);
    }

    static void listKeys(auto& a) {
        using S = ModelSpec;
        a.kind(
            "type", &S::body,
            "the model; logistic is the baseline with gradients, target_mean the baseline without",
            {.choices = {"dlrm", "dcn_v2", "mlp", "logistic", "target_mean"}});
        a("embedding_dim", &S::embeddingDim, "width of embeddings", {.min = 1, .max = 65536});
        a.body(&S::body);
    }
};

/// The model of that type with its defaults; absent for an unknown type.
std::optional<ModelBody> modelBodyOf(std::string_view type);
/// One of each model, with its defaults.
const std::vector<ModelBody>& allModels();
/// Its kType, and its own keys of `model`.
std::string_view modelType(const ModelBody& body);
std::vector<std::string_view> modelKeys(const ModelBody& body);

}  // namespace millrace::spec
