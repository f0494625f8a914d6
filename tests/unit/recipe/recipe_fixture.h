#pragma once
// Columns in memory as a split, and recipes compiled over them.
#include <map>
#include <string>
#include <vector>

#include <arrow/compute/initialize.h>
#include <gmock/gmock.h>

#include "backend/dataset/arrow_bridge.h"
#include "backend/dataset/file_facts.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/recipe/evaluator.h"
#include "tests/unit/dataset/data_files.h"

namespace millrace::test {

/// Stands for a null where columns are made from numbers.
inline constexpr std::int64_t kNull = INT64_MIN;

inline const bool kIsArrowReady = arrow::compute::Initialize().ok();

/// Columns in memory: an expression's input and a split's source. Counts what is read.
class MemoryColumns : public recipe::ExprInput, public recipe::ColumnSource {
 public:
    explicit MemoryColumns(std::vector<Column> columns) : columns_(std::move(columns)) {}

    spec::Schema schema() const {
        spec::Schema schema;
        for (const Column& column : columns_) {
            spec::DataType type;
            EXPECT_TRUE(dataset::toSpecType(*column.values->type(), type));
            schema.set(column.name, type);
        }
        return schema;
    }
    std::int64_t rows() const override {
        return columns_.empty() ? 0 : columns_[0].values->length();
    }
    Result<recipe::ArrayPtr> column(const std::string& name) override {
        for (const Column& column : columns_) {
            if (column.name == name) {
                return column.values;
            }
        }
        return internalError("no column ", name);
    }
    Result<std::vector<recipe::ArrayPtr>> columns(const std::vector<std::string>& names) override {
        std::vector<recipe::ArrayPtr> arrays;
        for (const std::string& name : names) {
            ++reads[name];
            ASSIGN_OR_RETURN(recipe::ArrayPtr array, column(name));
            arrays.push_back(std::move(array));
        }
        return arrays;
    }
    std::map<std::string, int> reads;

 private:
    std::vector<Column> columns_;
};

/// A recipe's run over one split "f.csv" that begins at row `firstRow`.
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
            recipe::diskTables({dir.path(), std::make_shared<dataset::FactsCache>()}), nullptr);
    }
    Result<recipe::FeatureBatch> run(MemoryColumns& data) {
        ASSIGN_OR_RETURN(const auto compiled, compile(data));
        return compiled->run({1, relativePath, firstRow, data.rows(), &data}, epoch);
    }
    spec::Step& add(spec::StepKind kind, const std::string& name = "") {
        spec::Step step;
        step.kind = kind;
        step.name = name.empty() ? std::string(spec::stepKindName(kind)) : name;
        spec.recipe.push_back(step);
        return spec.recipe.back();
    }
    void filter(const std::string& expr) { add(spec::StepKind::kFilter).expr = expr; }
    spec::Step& derive(const std::string& name, const std::string& expr) {
        spec::Step& step = add(spec::StepKind::kDerive, "derive_" + name);
        step.columns.push_back({name, expr});
        return step;
    }
};

}  // namespace millrace::test
