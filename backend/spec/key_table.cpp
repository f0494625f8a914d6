#include "backend/spec/key_table.h"

#include <type_traits>
#include <utility>
#include <variant>

#include "backend/core/status.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/yaml/yaml_text.h"

namespace millrace::spec {
namespace {

template <class T>
constexpr const T* kAny = nullptr;

/// The type of a key by the type of its member.
struct KeyTypes {
    static KeyType of(const std::string*) { return KeyType::kText; }
    static KeyType of(const bool*) { return KeyType::kBool; }
    static KeyType of(const std::int64_t*) { return KeyType::kInt; }
    static KeyType of(const std::uint64_t*) { return KeyType::kSeed; }
    static KeyType of(const double*) { return KeyType::kReal; }
    static KeyType of(const Json*) { return KeyType::kParams; }
    static KeyType of(const std::vector<std::string>*) { return KeyType::kTextList; }
    static KeyType of(const std::vector<std::int64_t>*) { return KeyType::kIntList; }
    static KeyType of(const std::vector<double>*) { return KeyType::kRealList; }
    static KeyType of(const std::vector<NamedExpr>*) { return KeyType::kNamedExprs; }
    static KeyType of(const std::vector<JoinKey>*) { return KeyType::kJoinKeys; }
    static KeyType of(const std::vector<DenseFeature>*) { return KeyType::kDense; }
    static KeyType of(const std::vector<WeightedFeature>*) { return KeyType::kSectionList; }
    static KeyType of(const std::vector<Step>*) { return KeyType::kRecipe; }
    static KeyType of(const std::map<std::string, std::string>*) { return KeyType::kTextMap; }
    template <class T>
    static KeyType of(const std::map<std::string, T>*) {
        return KeyType::kSectionMap;
    }
    template <class T>
    static KeyType of(const std::optional<T>*) {
        return of(kAny<T>);
    }
    template <class T>
    static KeyType of(const T*) {
        return KeyType::kSection;
    }
};

/// A default as YAML; "" for an empty one.
template <class T>
std::string fallbackText(const T& value) {
    if constexpr (std::is_same_v<T, double>) {
        return plainNumber(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
        return dumpJson(value);
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
        const bool isChoice = std::is_same_v<T, std::string> && !limits.choices.empty();
        const KeyType type =
            limits.type.value_or(isChoice ? KeyType::kChoice : KeyTypes::of(kAny<T>));
        limits.isOptional = limits.isOptional || requires(const T& value) { value.has_value(); };
        const bool hasDefault = !limits.isRequired && !limits.isDerived;
        const bool isWord = limits.isOptional && type != KeyType::kSection;
        add(name, type,
            !hasDefault ? ""
            : isWord    ? std::string(limits.word)
                        : fallbackText(S().*member),
            doc, limits);
        below(kAny<T>, at(name));
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
        below(kAny<CsvOptions>, at("csv"));
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
    void below(const T* /*type*/, std::string prefix) {
        if constexpr (requires(Lister& lister) { T::listKeys(lister); }) {
            Lister lister(out_, std::move(prefix));
            T::listKeys(lister);
        }
    }
    template <class T>
    void below(const std::optional<T>* /*type*/, std::string prefix) {
        below(kAny<T>, std::move(prefix));
    }
    template <class T>
    void below(const std::vector<T>* /*type*/, std::string prefix) {
        below(kAny<T>, std::move(prefix));
    }
    template <class T>
    void below(const std::map<std::string, T>* /*type*/, const std::string& prefix) {
        below(kAny<T>, prefix + ".*");
    }
    /// A recipe elsewhere has the same keys.
    void below(const std::vector<Step>* /*type*/, const std::string& prefix) {
        if (prefix == "recipe") {
            below(kAny<Step>, prefix);
        }
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
