#include "backend/spec/key_table.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/yaml_text.h"

namespace millrace::spec {
namespace {

/// The type of a key by the type of its member.
template <class T>
struct Typed {
    static constexpr KeyType kType = KeyType::kSection;
    using Below = T;  ///< the struct whose keys are below the key
};
template <KeyType kOne>
struct Plain {
    static constexpr KeyType kType = kOne;
    using Below = void;
};
template <>
struct Typed<std::string> : Plain<KeyType::kText> {};
template <>
struct Typed<bool> : Plain<KeyType::kBool> {};
template <>
struct Typed<std::int64_t> : Plain<KeyType::kInt> {};
template <>
struct Typed<std::uint64_t> : Plain<KeyType::kSeed> {};
template <>
struct Typed<double> : Plain<KeyType::kReal> {};
template <>
struct Typed<Json> : Plain<KeyType::kParams> {};
template <>
struct Typed<std::vector<std::string>> : Plain<KeyType::kTextList> {};
template <>
struct Typed<std::vector<std::int64_t>> : Plain<KeyType::kIntList> {};
template <>
struct Typed<std::vector<double>> : Plain<KeyType::kRealList> {};
template <>
struct Typed<std::vector<NamedExpr>> : Plain<KeyType::kNamedExprs> {};
template <>
struct Typed<std::vector<JoinKey>> : Plain<KeyType::kJoinKeys> {};
template <>
struct Typed<std::vector<DenseFeature>> : Plain<KeyType::kDense> {};
template <>
struct Typed<std::vector<Step>> : Plain<KeyType::kRecipe> {};
template <>
struct Typed<std::map<std::string, std::string>> : Plain<KeyType::kTextMap> {};
template <class T>
struct Typed<std::optional<T>> : Typed<T> {};
template <class T>
struct Typed<std::vector<T>> {
    static constexpr KeyType kType = KeyType::kSectionList;
    using Below = T;
};
template <class T>
struct Typed<std::map<std::string, T>> {
    static constexpr KeyType kType = KeyType::kSectionMap;
    using Below = T;
};

template <class T>
constexpr bool kIsOptional = false;
template <class T>
constexpr bool kIsOptional<std::optional<T>> = true;

/// A default as YAML; "" for an empty one.
template <class T>
std::string fallbackText(const T& value) {
    if constexpr (std::is_same_v<T, bool>) {
        return value ? "true" : "false";
    } else if constexpr (std::is_same_v<T, double>) {
        return plainNumber(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
        return strCat(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
        return value == "null" ? "\"null\"" : value == "\"" ? "'\"'" : value;
    } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
        return value.empty() ? "" : yamlList(value);
    } else {
        return "";
    }
}

/// The visitor that lists the keys of a struct and of the structs below it.
class Lister {
 public:
    Lister(std::vector<Key>& out, std::string prefix) : out_(out), prefix_(std::move(prefix)) {}

    template <class S, class T>
    void operator()(std::string_view name, T S::* member, std::string_view doc,
                    KeyLimits limits = {}) {
        const KeyType type = limits.type.value_or(
            std::is_same_v<T, std::string> && !limits.choices.empty() ? KeyType::kChoice
                                                                      : Typed<T>::kType);
        limits.isOptional = limits.isOptional || kIsOptional<T>;
        const bool hasDefault = !limits.isRequired && !limits.isDerived;
        add(name, type, hasDefault ? fallbackText(S().*member) : "", doc, limits);
        if constexpr (!std::is_void_v<typename Typed<T>::Below>) {
            below<typename Typed<T>::Below>(
                at(type == KeyType::kSectionMap ? strCat(name, ".*") : std::string(name)));
        }
        if (type == KeyType::kRecipe && prefix_.empty()) {
            below<Step>(at(name));
        }
    }
    void json(std::string_view /*name*/, auto /*member*/, const KeyLimits& /*limits*/ = {}) {}
    void yaml(std::string_view name, KeyType type, std::string_view doc,
              const KeyLimits& limits = {}) {
        add(name, type, "", doc, limits);
    }
    template <class S>
    void order(std::string_view name, std::string S::* order, std::string S::* /*by*/,
               std::string_view doc) {
        (*this)(name, order, doc, {.type = KeyType::kOrder});
    }
    template <class S>
    void choice(std::string_view name, bool S::* member, std::string_view yes, std::string_view no,
                std::string_view doc) {
        add(name, KeyType::kChoice, std::string(S().*member ? yes : no), doc,
            {.choices = {no, yes}});
    }
    void table(auto /*member*/, std::string_view doc, const KeyLimits& limits = {}) {
        add("table", KeyType::kTextList, "", doc, limits);
        add("csv", KeyType::kSection, "", "how its CSV files are written", {.isOptional = true});
        below<CsvOptions>(at("csv"));
    }
    void kind(std::string_view name, ModelBody ModelSpec::* /*body*/, std::string_view doc,
              const KeyLimits& limits) {
        add(name, KeyType::kChoice, std::string(ModelSpec().type()), doc, limits);
    }
    void kind(std::string_view /*name*/, StepBody Step::* /*body*/) {}
    void body(ModelBody ModelSpec::* /*body*/) {
        for (const ModelBody& body : allModels()) {
            std::visit([this](const auto& model) { model.listKeys(*this); }, body);
        }
    }
    void body(StepBody Step::* /*body*/) {
        for (const StepBody& body : allStepKinds()) {
            std::visit([this](const auto& kind) { listKind(kind); }, body);
        }
    }

 private:
    template <class T>
    void below(std::string prefix) {
        Lister lister(out_, std::move(prefix));
        T::listKeys(lister);
    }
    template <class Kind>
    void listKind(const Kind&) {
        Lister lister(out_, at(Kind::kKind));
        if (Kind::kIsPlain) {
            lister.isKey_ = true;
        } else {
            add(Kind::kKind, KeyType::kStepBody, "", Kind::kDoc, {});
        }
        Kind::listKeys(lister);
    }
    std::string at(std::string_view name) const {
        return isKey_ ? prefix_ : prefix_.empty() ? std::string(name) : strCat(prefix_, ".", name);
    }
    /// Two models may have a key in common.
    void add(std::string_view name, KeyType type, std::string fallback, std::string_view doc,
             const KeyLimits& limits) {
        std::string path = at(name);
        if (std::ranges::find(out_, path, &Key::path) == out_.end()) {
            out_.push_back({std::move(path), type, std::move(fallback), doc, limits});
        }
    }

    std::vector<Key>& out_;
    std::string prefix_;
    bool isKey_ = false;  ///< `prefix_` is itself the path of the one key
};

}  // namespace

std::span<const Key> keyTable() {
    static const std::vector<Key> kTable = [] {
        std::vector<Key> table;
        Lister lister(table, "");
        RunSpec::listKeys(lister);
        return table;
    }();
    return kTable;
}

const Key* findKey(std::string_view path) {
    for (const Key& key : keyTable()) {
        if (key.path == path) {
            return &key;
        }
    }
    return nullptr;
}

std::vector<const Key*> keysBelow(std::string_view prefix) {
    std::vector<const Key*> below;
    for (const Key& key : keyTable()) {
        const std::size_t dot = key.path.rfind('.');
        const std::string_view parent = dot == std::string_view::npos
                                            ? std::string_view()
                                            : std::string_view(key.path).substr(0, dot);
        if (parent == prefix) {
            below.push_back(&key);
        }
    }
    return below;
}

}  // namespace millrace::spec
