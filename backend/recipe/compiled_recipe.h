#pragma once
// A recipe compiled against a schema: dataset.where, the steps, labels and features of one part.
//
// Compiled once (side tables are loaded then), run on every split by any number of threads. A run
// is a pure function of the split's rows, the seed and the epoch.
// Threads: immutable; run() from any thread, each with its own ColumnSource.
// Owns: the side tables, with others that share them, reserved in the budget, which must outlive
// it.
// Failure: what a user can do about it, with the expression's text, and file and row where known:
// "recipe.join: table movies.csv: key movieId = 7 occurs twice ...".
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backend/core/memory_budget.h"
#include "backend/core/status.h"
#include "backend/dataset/side_table.h"
#include "backend/expr/schema.h"
#include "backend/pages/row_wish.h"
#include "backend/recipe/feature_batch.h"
#include "backend/recipe/shared_tables.h"
#include "backend/recipe/value_counter.h"
#include "backend/spec/run_spec.h"
#include "backend/spec/table_ref.h"

namespace arrow {
class Array;
class MemoryPool;
class Table;
}  // namespace arrow

namespace millrace::recipe {

/// Gives the columns of one split when they are first needed. Asked for several at once where
/// possible, so that one read serves them; never twice for one name.
class ColumnSource {
 public:
    virtual ~ColumnSource() = default;
    /// All rows of the split.
    virtual Result<std::vector<std::shared_ptr<arrow::Array>>> columns(
        const std::vector<std::string>& names) = 0;
    /// The wished rows alone: what the steps so far have left. Lists may come as dictionary<int32,
    /// list> when the wish allows it. Floats are 0 where they are null.
    virtual Result<std::vector<std::shared_ptr<arrow::Array>>> rows(
        const std::vector<std::string>& names, const pages::RowWish& wish);
    /// Processor time spent in columns() so far: steps do not count it as theirs.
    virtual std::int64_t readNs() const { return 0; }
};

/// One split's rows.
struct SplitInput {
    std::uint32_t file = 0;         ///< number in the plan
    std::string_view relativePath;  ///< what draws are keyed by
    std::uint64_t firstRow = 0;     ///< row number in the file of the split's first row
    std::int64_t rows = 0;
    ColumnSource* source = nullptr;
    arrow::MemoryPool* pool = nullptr;  ///< of what features are made in; null: Arrow's default
    /// Offsets of the only rows that may pass the filters, ascending; null: all. The others are
    /// left out before the first step, and no step counts them.
    const std::vector<std::int64_t>* candidates = nullptr;
};

/// A split's rows in pieces, which threads run side by side.
class SplitPieces {
 public:
    virtual ~SplitPieces() = default;
    virtual std::size_t count() const = 0;
    /// Its `source` is asked by one thread at a time, those of several pieces at once.
    virtual SplitInput piece(std::size_t index) const = 0;
    /// Calls `run` once for each piece, in any order, several at a time; returns when all are done.
    virtual void each(const std::function<void(std::size_t)>& run) = 0;
    /// Between calls of each(): which rows are left, by piece (offsets in it; null: all). From here
    /// on no others are read.
    virtual void leave(const std::vector<const std::vector<std::int64_t>*>& rows) = 0;
};

/// Where side tables come from, named as in the spec.
struct TableSource {
    spec::TableSchemaLookup schema;
    std::function<Result<std::shared_ptr<arrow::Table>>(const spec::TableRef& table,
                                                        const std::vector<std::string>& columns)>
        load;
    /// What those columns need in memory, before they are read; may be empty.
    std::function<Result<dataset::TableSize>(const spec::TableRef& table,
                                             const std::vector<std::string>& columns)>
        size;
    /// Counted values by their hash; may be empty.
    std::function<Result<CountedValues>(const std::string& hash)> counted;
    /// Count the values of embeddings, which get the counters' numbers as ids. Null: no value is
    /// counted.
    ValueCounters* counters = nullptr;
    MemoryBudget* budget = nullptr;  ///< where tables are reserved; compile() puts its own here
    /// Of all recipes that look into the same tables, with one budget. Not null.
    std::shared_ptr<SharedTables> shared = std::make_shared<SharedTables>();
};

/// Tables on disk: CSV, Parquet or Arrow by the name's ending, relative to baseDir.
TableSource diskTables(const dataset::TablePlace& place);

/// train: the spec's where, recipe, labels and features. eval: eval.dataset.where, the base's
/// labels through eval.label_recipe, features through eval.recipe; the rows of both are the same.
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

    /// Rows that survive, with their features. An empty batch has all its columns, of 0 rows.
    virtual Result<FeatureBatch> run(const SplitInput& split, std::uint32_t epoch) const = 0;
    /// The same rows as a batch a piece; of the training part. When it fails, run() says why: which
    /// row fails first in a piece is not always the first of the split.
    virtual Result<std::vector<FeatureBatch>> runPieces(SplitPieces& pieces,
                                                        std::uint32_t epoch) const = 0;

    /// What FeatureBatch::steps counts: "where" first, then each enabled step's name.
    virtual const std::vector<std::string>& stepNames() const = 0;
    /// By step, what StepCount::reasons counts: "false" and "null" of a filter, "no partner" of a
    /// join.
    virtual const std::vector<std::vector<std::string>>& stepReasons() const = 0;
    /// The features whose ids a vocabulary gives: what FeatureBatch::vocabularies counts.
    virtual const std::vector<std::string>& vocabularies() const = 0;
    /// The labels' names: FeatureBatch::heads.
    virtual const std::vector<std::string>& heads() const = 0;
    /// The file's columns that are read, sorted.
    virtual const std::vector<std::string>& columnsRead() const = 0;
    /// Some step may leave rows out.
    virtual bool dropsRows() const = 0;
    /// Bytes of the side tables held, each once.
    virtual std::int64_t tableBytes() const = 0;
};

}  // namespace millrace::recipe
