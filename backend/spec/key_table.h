#pragma once
// The declarative table of every key of a spec; the reader, the defaults, the reference and
// completion are generated from it.
#include <limits>
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

/// Properties that only some keys have.
struct KeyLimits {
    double min = -std::numeric_limits<double>::infinity();
    double max = std::numeric_limits<double>::infinity();
    std::vector<std::string_view> choices;
    bool isRequired = false;
    bool isOptional = false;  ///< null when absent: a section without defaults, or a number
    bool isMinExcluded = false;
    std::string_view shortKey;  ///< the key below that a plain value sets
    std::string_view word;      ///< for a section: a word that means the section without keys
    std::string_view unit;
};

struct Key {
    /// "batch.rows"; "labels.*.expr" below maps; "recipe.sample.keep" below steps.
    std::string_view path;
    KeyType type = KeyType::kText;
    std::string_view fallback;  ///< YAML; "": none
    std::string_view doc;
    KeyLimits limits;

    /// The part after the last dot.
    std::string_view name() const { return path.substr(path.rfind('.') + 1); }
};

/// The keys of embeddings and their vocabularies, which are also tables.
std::vector<Key> embeddingKeys();

std::span<const Key> keyTable();
const Key* findKey(std::string_view path);
/// The keys directly below `prefix` ("" for the top), in the table's order.
std::vector<const Key*> keysBelow(std::string_view prefix);

}  // namespace millrace::spec
