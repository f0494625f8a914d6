#pragma once
// Runs a recipe over a few rows, one step at a time, for the recipe previews. It uses the same
// compiled steps, draws and joins as training, and returns the values after each step as text.
//
// A step that cannot be compiled or that fails ends the stages. Earlier stages are kept, so a
// recipe with a mistake in its fifth step still shows four.
// Threads: immutable after compile(); run() from any. Owns: the side tables of its steps.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/expr/schema.h"
#include "backend/recipe/compiled_recipe.h"
#include "backend/spec/run_spec.h"

namespace millrace::recipe {

/// Name of the column with the rows' weights, present once a step has set one.
inline constexpr char kRowWeightColumn[] = "(row weight)";

struct StageColumn {
    std::string name, type;           ///< type as DataType::name
    std::vector<std::string> values;  ///< one per row; "" if null
    std::vector<bool> isNull;         ///< one per row; empty: no nulls
};

/// Number of a step's rows by outcome: "no partner" for a join.
struct StageReason {
    std::string name;
    std::int64_t rows = 0;
};

/// The rows after a step.
struct Stage {
    int step = -1;  ///< in the spec's recipe; -1: the dataset after dataset.where
    std::int64_t rowsIn = 0, rowsOut = 0;
    std::vector<StageReason> reasons;
    std::vector<std::int64_t> rows;  ///< offset from the split's `firstRow`, ascending
    std::vector<StageColumn> columns;
};

struct StagedRows {
    std::vector<Stage> stages;  ///< the dataset's, then one per step, including disabled ones
    Status status;              ///< of the first step that did not run
    int failedStep = -1;        ///< its index; -1 with an error: dataset.where
};

class StagedRecipe {
 public:
    /// `spec` was bound to its columns (spec::bindSchema), with or without errors. `budget` may be
    /// null. Failure: dataset.where cannot be compiled, or the side tables do not fit.
    static Result<std::shared_ptr<const StagedRecipe>> compile(const spec::RunSpec& spec,
                                                               const expr::Schema& schema,
                                                               const TableSource& tables,
                                                               MemoryBudget* budget);
    virtual ~StagedRecipe() = default;

    /// Number of rows of `split` from `skip` on that dataset.where keeps, at most `rows`.
    virtual Result<std::int64_t> count(const SplitInput& split, std::int64_t skip,
                                       std::int64_t rows) const = 0;
    /// Returns those rows after each step, with the draws of epoch 0.
    virtual Result<StagedRows> run(const SplitInput& split, std::int64_t skip,
                                   std::int64_t rows) const = 0;
};

}  // namespace millrace::recipe
