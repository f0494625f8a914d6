#pragma once
// The table of every key of a spec; the reader, the defaults, the reference and completion use it.
//
// It is made from the structs of the spec. Each struct lists its keys once, in the order of the
// reference, with `static void listKeys(auto& a)`; a key's default is the initialiser of its
// member. The visitor `a` lists the keys for this table, or writes or reads the JSON of a resolved
// spec:
//
//     a("clip_norm", &S::clipNorm, "words of the reference", {.min = 0, .isSparse = true});
//     a("checkpoint.keep", &S::checkpointKeep, ...);  // below a section without a struct
//     a.json("label_recipe", &S::labelRecipe);        // in the JSON only
//     a.yaml("label", KeyType::kExpr, "words");       // in the YAML only; SpecReader replaces it
//
// Keys with two notations have calls of their own: order, choice, table, kind with body.
#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace millrace::spec {

enum class KeyType {
    kText,
    kExpr,  ///< SQL scalar syntax, parsed when read
    kBool,
    kInt,
    kSeed,  ///< 0 to 2^64 - 1
    kReal,
    kChoice,
    kTextList,  ///< also a single text
    kIntList,
    kRealList,
    kTextMap,     ///< name -> text
    kParams,      ///< name -> any plain value; params.h
    kNamedExprs,  ///< name -> expression, in order; with `isListed` also a list of columns
    kJoinKeys,    ///< a column, a list of them, or left -> right
    kDense,       ///< columns, or {column, fill}
    kVectors,     ///< columns, or {column, size}
    kOrder,       ///< permuted, as_is, or {by: column}
    kSection,     ///< the keys below it
    kSectionMap,  ///< name -> section; a plain value means `shortKey`
    kSectionList,
    kRecipe,    ///< a list of steps
    kStepBody,  ///< a kind of step with its own keys
    kVariations,
};

/// The words of a choice, in the order of the reference.
class Choices {
 public:
    constexpr Choices() = default;
    constexpr Choices(std::initializer_list<std::string_view> words) : size_(words.size()) {
        std::ranges::copy(words, words_.begin());
    }
    constexpr const std::string_view* begin() const { return words_.data(); }
    constexpr const std::string_view* end() const { return words_.data() + size_; }
    constexpr bool empty() const { return size_ == 0; }

 private:
    std::array<std::string_view, 6> words_;
    std::size_t size_ = 0;
};

/// Most rows and steps that a key may name: whole numbers below it are exact as doubles.
inline constexpr double kMostRows = 9.0e15;

/// Properties that only some keys have.
struct KeyLimits {
    std::optional<KeyType> type = std::nullopt;  ///< if the member's type does not give it
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
    Choices choices = {};
    bool isRequired = false;
    bool isOptional = false;  ///< null when absent: a section without defaults, or a number
    bool isDerived = false;   ///< empty or 0 when absent, until other keys give the default
    bool isMinExcluded = false;
    bool isSparse = false;           ///< in the JSON only if it differs from its default, so that
                                     ///< specs from before the key keep their hashes
    bool isTrainers = false;         ///< for the built-in trainer; a spec with `command` has none
    bool isOfStream = false;         ///< refused in a spec without a dataset
    std::string_view jsonName = {};  ///< in the JSON, if it differs
    std::string_view shortKey = {};  ///< the key below that a plain value sets
    std::string_view word = {};      ///< for a section: a word that means the section without
                                     ///< keys; for an optional number: one that means its absence
    std::string_view unit = {};
};

struct Key {
    /// "batch.rows"; "labels.*.expr" below maps; "recipe.sample.keep" below steps.
    std::string path;
    KeyType type = KeyType::kText;
    std::string fallback;  ///< YAML; "": none
    std::string_view doc;
    KeyLimits limits = {};

    /// The part after the last dot.
    std::string_view name() const { return std::string_view(path).substr(path.rfind('.') + 1); }
};

std::span<const Key> keyTable();
const Key* findKey(std::string_view path);
/// The keys directly below `prefix` ("" for the top), in the table's order.
std::vector<const Key*> keysBelow(std::string_view prefix);

}  // namespace millrace::spec
