#pragma once
// The steps of a recipe, compiled: each changes a RowSet. Private to the room.
//
// Threads: immutable; run() from any thread.
#include <memory>
#include <string>
#include <vector>

#include "backend/recipe/compiled_recipe.h"
#include "backend/recipe/row_set.h"

namespace millrace::recipe {

/// What steps may need beside the rows.
struct RunContext {
    std::uint64_t seed = 0;
    std::uint32_t epoch = 0;
};

class CompiledStep {
 public:
    virtual ~CompiledStep() = default;
    /// Adds up in `count` what its reasons() name; rows in and out are counted by the caller.
    virtual Status run(RowSet& rows, const RunContext& context, StepCount& count) const = 0;
    /// At most kReasonsMax.
    virtual std::vector<std::string> reasons() const { return {}; }
    /// The side tables it holds.
    virtual void addTables(TableSizes&) const {}
};

using StepPtr = std::unique_ptr<const CompiledStep>;

/// Keeps the rows where `text` is true; `place` is for messages.
Result<StepPtr> compileFilter(const std::string& text, const expr::Schema& schema,
                              const std::string& place);

/// What a step is compiled against.
struct StepPremises {
    std::string place;           ///< "recipe.NAME", for messages
    const expr::Schema& schema;  ///< the columns before it
    Part part;
    const TableSource& tables;
};

/// Any step; `schema` holds the columns before it. In `kEval` joins never drop rows.
Result<StepPtr> compileStep(const spec::Step& step, const expr::Schema& schema, Part part,
                            const TableSource& tables);

/// Expressions over the columns of a table.
class TableInput : public eval::ExprInput {
 public:
    explicit TableInput(std::shared_ptr<arrow::Table> table) : table_(std::move(table)) {}
    std::int64_t rows() const override;
    Result<eval::ArrayPtr> column(const std::string& name) override;

 private:
    const std::shared_ptr<arrow::Table> table_;
};

}  // namespace millrace::recipe
