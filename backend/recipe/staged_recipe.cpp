#include "backend/recipe/staged_recipe.h"

#include <algorithm>
#include <numeric>

#include <arrow/array/array_base.h>
#include <arrow/array/builder_primitive.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/value_text.h"
#include "backend/recipe/row_set.h"
#include "backend/recipe/steps.h"
#include "backend/spec/bind.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

constexpr RunContext contextOf(std::uint64_t seed) {
    return {seed, 0};
}

StageColumn textsOf(const std::string& name, const expr::DataType& type,
                    const arrow::Array& values) {
    StageColumn column{name, type.name(), {}, {}};
    if (values.null_count() > 0) {
        column.isNull.resize(static_cast<std::size_t>(values.length()));
    }
    column.values.reserve(static_cast<std::size_t>(values.length()));
    for (std::int64_t row = 0; row < values.length(); ++row) {
        if (values.IsNull(row)) {
            column.isNull[static_cast<std::size_t>(row)] = true;
            column.values.emplace_back();
        } else {
            column.values.push_back(arrays::valueText(values, row));
        }
    }
    return column;
}

Result<StageColumn> weightsOf(const std::vector<double>& weights) {
    arrow::DoubleBuilder builder;
    std::shared_ptr<arrow::Array> values;
    RETURN_IF_ERROR(arrays::fromArrow(builder.AppendValues(weights), kRowWeightColumn));
    RETURN_IF_ERROR(arrays::fromArrow(builder.Finish(&values), kRowWeightColumn));
    return textsOf(kRowWeightColumn, {expr::TypeKind::kDouble}, *values);
}

class StagedSteps final : public StagedRecipe {
 public:
    StagedSteps(std::uint64_t seed, expr::Schema schema)
        : seed_(seed), schema_(std::move(schema)) {}

    Status build(const spec::RunSpec& spec, const TableSource& tables) {
        if (!spec.dataset.where.empty()) {
            ASSIGN_OR_RETURN(where_, compileFilter(spec.dataset.where, schema_, "dataset.where"));
        }
        expr::Schema columns = schema_;
        for (const spec::Step& step : spec.recipe) {
            OneStep one;
            if (step.enabled) {
                one.status = compileOne(step, tables, columns, one.step);
            }
            one.columns = columns;
            const bool isBroken = !one.status.ok();
            steps_.push_back(std::move(one));
            if (isBroken) {
                break;
            }
        }
        return okStatus();
    }

    Result<std::int64_t> count(const SplitInput& split, std::int64_t skip,
                               std::int64_t rows) const override {
        RowSet set(split, columns_);
        RETURN_IF_ERROR(start(set, skip, rows));
        return set.rows();
    }

    Result<StagedRows> run(const SplitInput& split, std::int64_t skip,
                           std::int64_t rows) const override {
        RowSet set(split, columns_);
        StagedRows out;
        RETURN_IF_ERROR(start(set, skip, rows));
        ASSIGN_OR_RETURN(Stage first, stageOf(set, schema_, -1));
        const bool isFull = set.rows() == rows && rows > 0;
        first.rowsIn = (isFull ? first.rows.back() + 1 : split.rows) - skip;
        out.stages.push_back(std::move(first));
        for (std::size_t i = 0; i < steps_.size() && out.status.ok(); ++i) {
            const std::int64_t before = set.rows();
            StepCount count;
            Status status = runOne(steps_[i], set, count);
            Result<Stage> stage =
                status.ok() ? stageOf(set, steps_[i].columns, static_cast<int>(i)) : status;
            if (!stage.ok()) {
                out.status = stage.status();
                out.failedStep = static_cast<int>(i);
                break;
            }
            stage->rowsIn = before;
            stage->reasons = reasonsOf(steps_[i], count);
            out.stages.push_back(*std::move(stage));
        }
        return out;
    }

 private:
    struct OneStep {
        StepPtr step;          ///< null: disabled, or broken
        Status status;         ///< why it could not be compiled
        expr::Schema columns;  ///< after it
    };

    static Status compileOne(const spec::Step& step, const TableSource& tables,
                             expr::Schema& columns, StepPtr& out) {
        ASSIGN_OR_RETURN(out, compileStep(step, columns, Part::kTrain, tables));
        ASSIGN_OR_RETURN(columns, spec::columnsAfter(step, columns, tables.schema));
        return okStatus();
    }

    Status runOne(const OneStep& one, RowSet& set, StepCount& count) const {
        RETURN_IF_ERROR(one.status);
        return one.step == nullptr ? okStatus() : one.step->run(set, contextOf(seed_), count);
    }

    static std::vector<StageReason> reasonsOf(const OneStep& one, const StepCount& count) {
        std::vector<StageReason> reasons;
        if (one.step != nullptr) {
            for (std::string& name : one.step->reasons()) {
                reasons.push_back({std::move(name), count.reasons[reasons.size()]});
            }
        }
        return reasons;
    }

    Status start(RowSet& set, std::int64_t skip, std::int64_t rows) const {
        if (skip > 0) {
            std::vector<std::int64_t> kept(
                static_cast<std::size_t>(std::max<std::int64_t>(set.rows() - skip, 0)));
            std::iota(kept.begin(), kept.end(), skip);
            RETURN_IF_ERROR(set.keep(kept));
        }
        if (where_ != nullptr) {
            StepCount count;
            RETURN_IF_ERROR(where_->run(set, contextOf(seed_), count));
        }
        if (set.rows() > rows) {
            std::vector<std::int64_t> first(static_cast<std::size_t>(rows));
            std::iota(first.begin(), first.end(), 0);
            RETURN_IF_ERROR(set.keep(first));
        }
        return okStatus();
    }

    static Result<Stage> stageOf(RowSet& set, const expr::Schema& columns, int step) {
        Stage stage;
        stage.step = step;
        stage.rowsOut = set.rows();
        for (std::int64_t i = 0; i < set.rows(); ++i) {
            stage.rows.push_back(
                static_cast<std::int64_t>(set.rowNumber(i) - set.split().firstRow));
        }
        RETURN_IF_ERROR(set.prefetch(columns.names()));
        for (const expr::Field& field : columns.fields) {
            ASSIGN_OR_RETURN(const ArrayPtr values, set.column(field.name));
            stage.columns.push_back(textsOf(field.name, field.type, *values));
        }
        if (!set.weights().empty()) {
            ASSIGN_OR_RETURN(StageColumn weights, weightsOf(set.weights()));
            stage.columns.push_back(std::move(weights));
        }
        return stage;
    }

    const std::uint64_t seed_;
    const expr::Schema schema_;
    const expr::ColumnIndex columns_{schema_};
    StepPtr where_;
    std::vector<OneStep> steps_;
};

}  // namespace

Result<std::shared_ptr<const StagedRecipe>> StagedRecipe::compile(const spec::RunSpec& spec,
                                                                  const expr::Schema& schema,
                                                                  const TableSource& tables,
                                                                  MemoryBudget* budget) {
    auto recipe = std::make_shared<StagedSteps>(spec.batch.seed, schema);
    TableSource counted = tables;
    counted.budget = budget;
    RETURN_IF_ERROR(recipe->build(spec, counted));
    return std::shared_ptr<const StagedRecipe>(std::move(recipe));
}

}  // namespace millrace::recipe
