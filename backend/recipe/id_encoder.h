#pragma once
// Maps values to ids in [0, rows) of an embedding table. Private to recipe.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "backend/arrays/text_codes.h"
#include "backend/core/status.h"
#include "backend/eval/kernels.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/recipe/join/join_table.h"
#include "backend/spec/run_spec.h"

namespace millrace::recipe {

/// Encodes the values of one id or list feature.
class IdEncoder {
 public:
    /// Returns int64 without nulls, or lists of these; texts may come as a dictionary (each is then
    /// encoded once). Adds the use of the vocabulary to `batch`, per row: `items` has the rows'
    /// positions in `values` if rows share lists. `pool`: null for Arrow's default pool.
    Result<eval::ArrayPtr> encode(const eval::ArrayPtr& values, FeatureBatch& batch,
                                  arrow::MemoryPool* pool = nullptr,
                                  std::optional<std::span<const std::int32_t>> items = {}) const;

 private:
    friend class EncoderMaker;
    struct Range {
        std::int64_t from = 0, to = 0;
    };
    Result<eval::ArrayPtr> encodeElements(const eval::ArrayPtr& values,
                                          arrow::MemoryPool* pool) const;
    Result<eval::ArrayPtr> encodeTexts(const arrays::TextCodes& texts, FeatureBatch& batch,
                                       arrow::MemoryPool* pool) const;
    /// `ids`: ids of the values in a vocabulary: 0 is unknown, or null.
    static void count(const arrow::Array& values, const arrow::Array& ids, const Range& range,
                      IdCount& count);
    /// `ids`: ids of the lists' elements.
    static void countLists(const arrow::Array& values, const arrow::Array& ids,
                           const std::optional<std::span<const std::int32_t>>& items,
                           IdCount& total);
    std::int64_t rows_ = 0;  ///< 0: the values already are ids
    std::shared_ptr<const JoinTable> vocabulary_;
    ValueCounter* counter_ = nullptr;  ///< set while the values are being counted
    std::size_t place_ = 0;            ///< index of its counts among the recipe's
};

/// Makes the encoders of a recipe's features; features of one embedding share its vocabulary.
class EncoderMaker {
 public:
    /// `steps`: the recipe before the features. All references outlive the maker.
    EncoderMaker(const spec::RunSpec& spec, const std::vector<spec::Step>& steps,
                 const TableSource& tables)
        : spec_(spec), steps_(steps), tables_(tables) {}

    /// Chooses the encoding: values from a step that makes ids (hash, bucketize) are used
    /// unchanged; otherwise by the table's vocabulary, or hashed to its rows. `column` holds the
    /// feature's values. Failure: the feature has no cardinality.
    Result<IdEncoder> make(const std::string& feature, const std::string& column,
                           const expr::DataType& type);

    /// The features with a vocabulary, in the order of FeatureBatch::vocabularies.
    const std::vector<std::string>& vocabularies() const { return names_; }
    /// Sizes of all vocabularies.
    TableSizes tables() const;

 private:
    /// The counter of the embedding's values; null: they are not being counted.
    ValueCounter* counterOf(const std::string& embedding) const;
    Result<std::shared_ptr<const JoinTable>> loadCounted(const std::string& embedding,
                                                         const std::string& hash,
                                                         const std::string& column,
                                                         const expr::DataType& type);
    Result<std::shared_ptr<const JoinTable>> load(const std::string& embedding,
                                                  const spec::VocabularySpec& vocabulary,
                                                  const std::string& column,
                                                  const expr::DataType& type);
    const spec::RunSpec& spec_;
    const std::vector<spec::Step>& steps_;
    const TableSource& tables_;
    std::map<std::string, std::shared_ptr<const JoinTable>> loaded_;  ///< by table key
    std::vector<std::string> names_;
};

}  // namespace millrace::recipe
