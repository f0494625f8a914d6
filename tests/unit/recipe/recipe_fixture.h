#pragma once
// Columns in memory as a split, and recipes that are compiled over them.
#include <map>
#include <string>
#include <variant>
#include <vector>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_dict.h>
#include <arrow/array/array_primitive.h>
#include <arrow/compute/api_vector.h>
#include <gmock/gmock.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/number_codes.h"
#include "backend/dataset/metadata_cache.h"
#include "backend/eval/evaluator.h"
#include "backend/files/file_metadata.h"
#include "backend/recipe/compiled_recipe.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::test {

/// Means null where columns are made from numbers.
inline constexpr std::int64_t kNull = INT64_MIN;

/// Texts as a dictionary like the page decoder's, with one entry that no row has; other arrays are
/// unchanged.
inline eval::ArrayPtr codedTexts(const eval::ArrayPtr& values,
                                 const std::string& unused = "none's") {
    if (values->type_id() != arrow::Type::STRING) {
        return values;
    }
    const auto& plain = static_cast<const arrow::StringArray&>(*values);
    arrow::StringBuilder entries;
    arrow::Int32Builder codes;
    EXPECT_TRUE(entries.Append(unused).ok() && entries.AppendNull().ok());
    std::map<std::string, std::int32_t> known;
    for (std::int64_t row = 0; row < plain.length(); ++row) {
        if (plain.IsNull(row)) {
            EXPECT_TRUE(codes.Append(1).ok());
            continue;
        }
        const auto next = static_cast<std::int32_t>(known.size() + 2);
        const auto [entry, isNew] = known.emplace(plain.GetString(row), next);
        EXPECT_TRUE(!isNew || entries.Append(entry->first).ok());
        EXPECT_TRUE(codes.Append(entry->second).ok());
    }
    return *arrow::DictionaryArray::FromArrays(arrow::dictionary(arrow::int32(), arrow::utf8()),
                                               *codes.Finish(), *entries.Finish());
}

/// Numbers as a dictionary like PageDecoder's: a null is an entry, the codes have no nulls.
inline eval::ArrayPtr codedNumbers(const eval::ArrayPtr& values) {
    if (!arrays::isWord(*values->type())) {
        return values;
    }
    const auto coded = arrow::compute::DictionaryEncode(
        values,
        arrow::compute::DictionaryEncodeOptions(arrow::compute::DictionaryEncodeOptions::ENCODE));
    EXPECT_TRUE(coded.ok() && coded->null_count() == 0);
    return coded->make_array();
}

/// Columns in memory: an expression's input and a split's source. Counts the reads.
class MemoryColumns : public eval::ExprInput, public recipe::ColumnSource {
 public:
    explicit MemoryColumns(std::vector<Column> columns) : columns_(std::move(columns)) {}

    expr::Schema schema() const {
        expr::Schema schema;
        for (const Column& column : columns_) {
            expr::DataType type;
            EXPECT_TRUE(arrays::toSpecType(*column.values->type(), type));
            schema.set(column.name, type);
        }
        return schema;
    }
    std::int64_t rows() const override {
        return columns_.empty() ? 0 : columns_[0].values->length();
    }
    Result<eval::ArrayPtr> column(const std::string& name) override {
        for (const Column& column : columns_) {
            if (column.name == name) {
                return column.values;
            }
        }
        return internalError("no column ", name);
    }
    Result<std::vector<eval::ArrayPtr>> columns(const std::vector<std::string>& names) override {
        std::vector<eval::ArrayPtr> arrays;
        for (const std::string& name : names) {
            ++reads[name];
            ASSIGN_OR_RETURN(eval::ArrayPtr array, column(name));
            arrays.push_back(std::move(array));
        }
        return arrays;
    }
    Result<eval::ArrayPtr> storedColumn(const std::string& name) override {
        ASSIGN_OR_RETURN(const eval::ArrayPtr values, column(name));
        return codesTexts ? codedTexts(values, unusedText) : values;
    }
    Result<std::vector<eval::ArrayPtr>> rows(const std::vector<std::string>& names,
                                             const pages::RowSelection& selection) override {
        ASSIGN_OR_RETURN(auto arrays, recipe::ColumnSource::rows(names, selection));
        for (eval::ArrayPtr& array : arrays) {
            array = codesTexts && selection.mayCode ? codedTexts(array, unusedText) : array;
            array = codesNumbers && selection.mayCodeNumbers ? codedNumbers(array) : array;
        }
        return arrays;
    }
    std::map<std::string, int> reads;
    bool codesTexts = false;    ///< texts are dictionaries where possible
    bool codesNumbers = false;  ///< numbers are dictionaries where possible
    std::string unusedText = "none's";

 private:
    std::vector<Column> columns_;
};

/// Runs a recipe over one split "f.csv" that begins at row `firstRow`.
struct Bench {
    DataDirectory dir;
    spec::RunSpec spec;
    std::uint64_t firstRow = 0;
    std::uint32_t epoch = 0;
    std::string relativePath = "f.csv";
    recipe::Part part = recipe::Part::kTrain;

    Bench() { spec.batch.seed = 7; }

    Result<std::shared_ptr<const recipe::CompiledRecipe>> compile(MemoryColumns& data) {
        return recipe::CompiledRecipe::compile(
            spec, part, data.schema(),
            recipe::diskTables({dir.path(), std::make_shared<dataset::MetadataCache>()}), nullptr);
    }
    Result<recipe::FeatureBatch> run(MemoryColumns& data) {
        ASSIGN_OR_RETURN(const auto compiled, compile(data));
        return compiled->run({1, relativePath, firstRow, data.rows(), &data}, epoch);
    }
    /// The reference is valid until the next add().
    template <class Kind>
    Kind& add(const std::string& name = "") {
        const std::string given = name.empty() ? std::string(Kind::kKind) : name;
        spec.recipe.push_back({given, true, Kind()});
        return std::get<Kind>(spec.recipe.back().body);
    }
    template <class Kind>
    Kind& step(std::size_t i) {
        return std::get<Kind>(spec.recipe[i].body);
    }
    void filter(const std::string& expr) { add<spec::FilterStep>().expr = expr; }
    spec::DeriveStep& derive(const std::string& name, const std::string& expr) {
        auto& step = add<spec::DeriveStep>("derive_" + name);
        step.columns.push_back({name, expr});
        return step;
    }
};

}  // namespace millrace::test
