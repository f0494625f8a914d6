#pragma once
// A recipe compiled against a schema: dataset.where, the steps, labels and features of one part.
//
// It is compiled once (which loads side tables) and run on every split by any number of threads. A
// run is a pure function of the split's rows, the seed and the epoch.
// Threads: immutable; run() from any thread, each with its own ColumnSource.
// Owns: the side tables, shared with other recipes and reserved in the budget, which must outlive
// it.
// Failure: an error that a user can fix, with the expression's text, and file and row if known:
// "recipe.join: table movies.csv: key movieId = 7 occurs twice ...".
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <arrow/type_fwd.h>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/dataset/side_table.h"
#include "backend/expr/schema.h"
#include "backend/pages/row_selection.h"
#include "backend/recipe/feature_batch.h"
#include "backend/recipe/join/shared_tables.h"
#include "backend/recipe/value_counter.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/table_ref.h"

namespace millrace::recipe {

/// Provides the columns of one split when they are first needed. Requests several at once if
/// possible, so that one read serves them; never requests a name twice.
class ColumnSource {
 public:
    virtual ~ColumnSource() = default;
    /// Returns all rows of the split.
    virtual Result<std::vector<std::shared_ptr<arrow::Array>>> columns(
        const std::vector<std::string>& names) = 0;
    /// Returns only the wanted rows: those that the steps so far have kept. Lists may come as
    /// dictionary<int32, list> if `selection` allows it. Null floats are 0.
    virtual Result<std::vector<std::shared_ptr<arrow::Array>>> rows(
        const std::vector<std::string>& names, const pages::RowSelection& selection);
    /// Processor time spent in columns() so far; steps subtract it from their own.
    virtual std::int64_t readNs() const { return 0; }
};

/// One split's rows.
struct SplitInput {
    std::uint32_t file = 0;         ///< number in the plan
    std::string_view relativePath;  ///< key of random draws
    std::uint64_t firstRow = 0;     ///< row number in the file of the split's first row
    std::int64_t rows = 0;
    ColumnSource* source = nullptr;
    arrow::MemoryPool* pool = nullptr;  ///< pool for features; null: Arrow's default
    /// Offsets of the only rows that may pass the filters, ascending; null: all. Other rows are
    /// dropped before the first step, and no step counts them.
    const std::vector<std::int64_t>* candidates = nullptr;
};

/// A split's rows in pieces that several threads run at once.
class SplitPieces {
 public:
    virtual ~SplitPieces() = default;
    virtual std::size_t count() const = 0;
    /// One thread at a time uses its `source`; several pieces' sources are used at once.
    virtual SplitInput piece(std::size_t index) const = 0;
    /// Calls `run` once for each piece, in any order, several at a time; returns when all are done.
    virtual void each(const std::function<void(std::size_t)>& run) = 0;
    /// Call it between calls of each(): sets the remaining rows of each piece (offsets in it; null:
    /// all). Other rows are no longer read.
    virtual void leave(const std::vector<const std::vector<std::int64_t>*>& rows) = 0;
};

/// Access to side tables, named as in the spec.
struct TableSource {
    spec::TableSchemaLookup schema;
    std::function<Result<std::shared_ptr<arrow::Table>>(const spec::TableRef& table,
                                                        const std::vector<std::string>& columns)>
        load;
    /// Memory that those columns need, known before they are read; may be empty.
    std::function<Result<dataset::TableSize>(const spec::TableRef& table,
                                             const std::vector<std::string>& columns)>
        size;
    /// Returns counted values by their hash; may be empty.
    std::function<Result<CountedValues>(const std::string& hash)> counted;
    /// Counters that number the values of embeddings; the numbers serve as ids. Null: counts
    /// nothing.
    ValueCounters* counters = nullptr;
    MemoryBudget* budget = nullptr;  ///< reserves memory for tables; compile() sets its own here
    /// Shared by all recipes that use the same tables, with one budget. Not null.
    std::shared_ptr<SharedTables> shared = std::make_shared<SharedTables>();
};

/// Tables on disk: CSV, Parquet or Arrow by the file name's suffix, relative to baseDir.
TableSource diskTables(const dataset::TablePlace& place);

/// train: the spec's where, recipe, labels and features. eval: eval.dataset.where, the base's
/// labels through eval.label_recipe, features through eval.recipe; both keep the same rows.
enum class Part { kTrain, kEval };

class CompiledRecipe {
 public:
    /// `spec` is bound (spec::bindSchema); `schema` is the dataset's. `budget` may be null.
    static Result<std::shared_ptr<const CompiledRecipe>> compile(const spec::RunSpec& spec,
                                                                 Part part,
                                                                 const expr::Schema& schema,
                                                                 const TableSource& tables,
                                                                 MemoryBudget* budget);
    virtual ~CompiledRecipe() = default;

    /// Returns the surviving rows with their features. An empty batch has all columns, with 0 rows.
    virtual Result<FeatureBatch> run(const SplitInput& split, std::uint32_t epoch) const = 0;
    /// Returns the same rows as one batch per piece; training part only. If it fails, call run()
    /// for the error: a piece's first failing row need not be the split's first.
    virtual Result<std::vector<FeatureBatch>> runPieces(SplitPieces& pieces,
                                                        std::uint32_t epoch) const = 0;

    /// Names for FeatureBatch::steps: "where" first, then each enabled step's name.
    virtual const std::vector<std::string>& stepNames() const = 0;
    /// Names for StepCount::reasons, by step: "false" and "null" for a filter, "no partner" for a
    /// join.
    virtual const std::vector<std::vector<std::string>>& stepReasons() const = 0;
    /// Features with a vocabulary: names for FeatureBatch::vocabularies.
    virtual const std::vector<std::string>& vocabularies() const = 0;
    /// The labels' names, for FeatureBatch::heads.
    virtual const std::vector<std::string>& heads() const = 0;
    /// The file columns that are read, sorted.
    virtual const std::vector<std::string>& columnsRead() const = 0;
    /// Whether any step may drop rows.
    virtual bool dropsRows() const = 0;
    /// Bytes of the side tables; each table counts once.
    virtual std::int64_t tableBytes() const = 0;
};

}  // namespace millrace::recipe
