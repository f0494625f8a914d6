#pragma once
// A recipe run over a few rows one step at a time, to be looked at: the same compiled steps, draws
// and joins as training's, with the values after each step as text.
//
// Steps that cannot be compiled or that fail end the stages; what stands before them is kept, so a
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

/// Name of the column that shows the rows' weights, once a step has set one.
inline constexpr char kRowWeightColumn[] = "(row weight)";

struct StageColumn {
    std::string name, type;           ///< type as DataType::name
    std::vector<std::string> values;  ///< one a row; "" where null
    std::vector<bool> isNull;         ///< one a row; empty: none is
};

/// Rows of a step by what happened to them: "no partner" of a join.
struct StageReason {
    std::string name;
    std::int64_t rows = 0;
};

/// The rows as they are after a step.
struct Stage {
    int step = -1;  ///< in the spec's recipe; -1: the dataset after dataset.where
    std::int64_t rowsIn = 0, rowsOut = 0;
    std::vector<StageReason> reasons;
    std::vector<std::int64_t> rows;  ///< row within the split's `firstRow`.., ascending
    std::vector<StageColumn> columns;
};

struct StagedRows {
    std::vector<Stage> stages;  ///< the dataset's, then one a step, disabled ones too
    Status status;              ///< of the first step that did not run
    int failedStep = -1;        ///< which one; -1 with an error: dataset.where
};

class StagedRecipe {
 public:
    /// `spec` has met its columns (spec::bindSchema), with or without errors. `budget` may be null.
    /// Failure: dataset.where cannot be compiled, the side tables do not fit.
    static Result<std::shared_ptr<const StagedRecipe>> compile(const spec::RunSpec& spec,
                                                               const expr::Schema& schema,
                                                               const TableSource& tables,
                                                               MemoryBudget* budget);
    virtual ~StagedRecipe() = default;

    /// Rows of `split` from `skip` on that dataset.where keeps, at most `rows` of them.
    virtual Result<std::int64_t> count(const SplitInput& split, std::int64_t skip,
                                       std::int64_t rows) const = 0;
    /// Those rows after each step, drawn as in epoch 0.
    virtual Result<StagedRows> run(const SplitInput& split, std::int64_t skip,
                                   std::int64_t rows) const = 0;
};

}  // namespace millrace::recipe
