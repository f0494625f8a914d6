#pragma once
// The rows of one split on their way through a recipe: a selection, weights and named columns.
//
// File columns are read when first used and looked up only for the rows that are left; columns that
// steps made follow the selection when they are next used. Private to the room.
// Threads: one. A copy shares what was read so far.
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/eval/evaluator.h"
#include "backend/recipe/compiled_recipe.h"

namespace millrace::recipe {

/// Values of which several rows may have one.
struct StoredValues {
    eval::ArrayPtr values;
    eval::ArrayPtr
        indices;  ///< int32, of each row its value, null where it has none; null: row by row

    /// Something done once a value is done no oftener than once a row.
    bool isWorth() const {
        return indices != nullptr && indices->null_count() == 0 &&
               values->length() <= indices->length();
    }
    /// What was made of each value, as a column of rows: lists, texts and numbers stay stored once.
    Result<eval::ArrayPtr> asRows(eval::ArrayPtr made) const;
};

class RowSet : public eval::ExprInput {
 public:
    /// `split` and `schema` (of the file's columns) outlive it.
    RowSet(const SplitInput& split, const expr::ColumnIndex& schema);

    std::int64_t rows() const override { return rows_; }
    Result<eval::ArrayPtr> column(const std::string& name) override;
    /// The same, but lists may come as dictionary<int32, list>, repeats stored once, and texts as
    /// dictionary<int32, utf8>.
    Result<eval::ArrayPtr> storedColumn(const std::string& name) override;

    /// The column as it is stored, numbers as dictionary<int32, T> too where the file or the step
    /// that made them has them so. Reads it when it is due.
    Result<StoredValues> storedValues(const std::string& name);

    /// The column's present rows are as the file has them: floats are 0 where they are null.
    bool isAsRead(const std::string& name) const {
        const auto read = source_->columns.find(name);
        return !made_.contains(name) && read != source_->columns.end() &&
               read->second.generation == cuts_.size();
    }

    /// Reads the file columns among `names` in one go, when there are rows left; of the present
    /// rows alone.
    Status prefetch(const std::vector<std::string>& names, bool mayRepeat = false,
                    bool mayCodeNumbers = false);
    /// The same of names that are all the file's, each once: none of them is looked up.
    Status prefetchKnown(const std::vector<std::string>& names, bool mayRepeat);
    /// Keeps these rows (ascending positions among the present ones).
    Status keep(const std::vector<std::int64_t>& positions);
    /// Adds or replaces a column of `rows()` values.
    void set(const std::string& name, eval::ArrayPtr values);

    /// Row number in the file of a present row.
    std::uint64_t rowNumber(std::int64_t position) const;
    std::vector<std::uint64_t> rowNumbers() const;
    const SplitInput& split() const { return split_; }
    /// Offsets in the split of the present rows; null: all of them.
    const std::vector<std::int64_t>* selection() const {
        return selection_ ? &*selection_ : nullptr;
    }

    /// One weight a row; empty while all are 1.
    const std::vector<double>& weights() const { return weights_; }
    std::vector<double>& mutableWeights();

 private:
    Status readAll(const std::vector<std::string>& wanted, bool mayRepeat, bool mayCodeNumbers);
    bool isAtHand(const std::string& name) const {
        return made_.contains(name) || source_->columns.contains(name);
    }
    struct MadeColumn {
        eval::ArrayPtr values;
        std::size_t generation = 0;  ///< number of keep() calls it has seen
    };
    /// File columns as they were read.
    struct Source {
        std::unordered_map<std::string, MadeColumn> columns;
    };
    Result<eval::ArrayPtr> presentRows(const MadeColumn& read) const;
    Result<eval::ArrayPtr> codedColumn(const std::string& name);
    /// A value a row, in place of what is kept.
    Result<eval::ArrayPtr> expand(const std::string& name, eval::ArrayPtr values);

    const SplitInput& split_;
    const expr::ColumnIndex& schema_;
    std::shared_ptr<Source> source_;
    std::unordered_map<std::string, eval::ArrayPtr> selected_;  ///< file columns, present rows only
    std::unordered_map<std::string, MadeColumn> made_;
    std::vector<eval::ArrayPtr> cuts_;                    ///< positions kept by each keep()
    std::optional<std::vector<std::int64_t>> selection_;  ///< offsets in the split; none: all rows
    eval::ArrayPtr selectionArray_;
    std::int64_t rows_;
    std::vector<double> weights_;
};

/// The same, but where the expression is of one column whose values are stored once, it is
/// evaluated once for each of them; a result of lists, texts or numbers is then a dictionary too.
Result<eval::ArrayPtr> evaluateStored(const expr::Expr& expr, RowSet& rows,
                                      const std::string& place);

/// Evaluates for all present rows; an error gets "FILE: row N: PLACE: ...".
Result<eval::ArrayPtr> evaluateRows(const expr::Expr& expr, RowSet& rows, const std::string& place);

}  // namespace millrace::recipe
