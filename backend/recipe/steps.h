#pragma once
// The steps of a recipe, compiled: each one changes a RowSet. Private to recipe.
//
// Threads: immutable; run() from any thread.
#include <memory>
#include <string>
#include <vector>

#include "backend/recipe/compiled_recipe.h"
#include "backend/recipe/row_set.h"

namespace millrace::recipe {

/// Everything that a step needs besides the rows.
struct RunContext {
    std::uint64_t seed = 0;
    std::uint32_t epoch = 0;
};

class CompiledStep {
 public:
    virtual ~CompiledStep() = default;
    /// Adds the rows by reason (see reasons()) to `count`; the caller counts rows in and out.
    virtual Status run(RowSet& rows, const RunContext& context, StepCount& count) const = 0;
    /// At most kReasonsMax.
    virtual std::vector<std::string> reasons() const { return {}; }
    /// Adds the side tables that it holds.
    virtual void addTables(TableSizes&) const {}
};

using StepPtr = std::unique_ptr<const CompiledStep>;

/// Keeps the rows where `text` is true; `place` is for messages.
Result<StepPtr> compileFilter(const std::string& text, const expr::Schema& schema,
                              const std::string& place);

/// The context in which a step is compiled.
struct StepContext {
    std::string place;           ///< "recipe.NAME", for messages
    const expr::Schema& schema;  ///< the columns before it
    Part part;
    const TableSource& tables;
};

/// Compiles any step; `schema` holds the columns before it. In `kEval` joins never drop rows.
Result<StepPtr> compileStep(const spec::Step& step, const expr::Schema& schema, Part part,
                            const TableSource& tables);

/// The columns of a table, as input for expressions.
class TableInput : public eval::ExprInput {
 public:
    explicit TableInput(std::shared_ptr<arrow::Table> table) : table_(std::move(table)) {}
    std::int64_t rows() const override;
    Result<eval::ArrayPtr> column(const std::string& name) override;

 private:
    const std::shared_ptr<arrow::Table> table_;
};

}  // namespace millrace::recipe
