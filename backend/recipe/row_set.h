#pragma once
// The rows of one split on their way through a recipe: a selection, weights and named columns.
//
// File columns are read at first use and looked up only for the remaining rows. Columns made by
// steps are reduced to the selection at their next use. Private to recipe.
// Threads: one. A copy shares what was read before.
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "backend/eval/evaluator.h"
#include "backend/recipe/compiled_recipe.h"

namespace millrace::recipe {

/// Values that several rows may share.
struct StoredValues {
    eval::ArrayPtr values;
    eval::ArrayPtr indices;  ///< int32, index of each row's value, null for none; null: one per row

    /// Whether working per value is no more often than per row.
    bool isWorth() const {
        return indices != nullptr && indices->null_count() == 0 &&
               values->length() <= indices->length();
    }
    /// Turns one result per value into a column of rows; lists, texts and numbers stay
    /// dictionary-coded.
    Result<eval::ArrayPtr> asRows(eval::ArrayPtr made) const;
};

class RowSet : public eval::ExprInput {
 public:
    /// `split` and `schema` (of the file's columns) outlive it.
    RowSet(const SplitInput& split, const expr::ColumnIndex& schema);

    std::int64_t rows() const override { return rows_; }
    Result<eval::ArrayPtr> column(const std::string& name) override;
    /// Like column(), but lists may come as dictionary<int32, list>, with repeats stored once, and
    /// texts as dictionary<int32, utf8>.
    Result<eval::ArrayPtr> storedColumn(const std::string& name) override;

    /// The column as it is stored; numbers, too, come as dictionary<int32, T> if the file or the
    /// step stores them so. Reads the column if necessary.
    Result<StoredValues> storedValues(const std::string& name);

    /// Whether the present rows are unchanged from the file: null floats are 0 then.
    bool isAsRead(const std::string& name) const {
        const auto read = source_->columns.find(name);
        return !made_.contains(name) && read != source_->columns.end() &&
               read->second.generation == cuts_.size();
    }

    /// Reads the file columns among `names` in one go, for the present rows only; reads nothing if
    /// none are left.
    Status prefetch(const std::vector<std::string>& names, bool mayRepeat = false,
                    bool mayCodeNumbers = false);
    /// Like prefetch(), for distinct names that are all the file's: skips looking them up.
    Status prefetchKnown(const std::vector<std::string>& names, bool mayRepeat);
    /// Keeps these rows (ascending positions among the present rows).
    Status keep(const std::vector<std::int64_t>& positions);
    /// Adds or replaces a column of `rows()` values.
    void set(const std::string& name, eval::ArrayPtr values);

    /// A present row's number in the file.
    std::uint64_t rowNumber(std::int64_t position) const;
    std::vector<std::uint64_t> rowNumbers() const;
    const SplitInput& split() const { return split_; }
    /// Offsets of the present rows in the split; null: all rows.
    const std::vector<std::int64_t>* selection() const {
        return selection_ ? &*selection_ : nullptr;
    }

    /// One weight per row; empty while all are 1.
    const std::vector<double>& weights() const { return weights_; }
    std::vector<double>& mutableWeights();

 private:
    Status readAll(const std::vector<std::string>& wanted, bool mayRepeat, bool mayCodeNumbers);
    bool isAtHand(const std::string& name) const {
        return made_.contains(name) || source_->columns.contains(name);
    }
    struct MadeColumn {
        eval::ArrayPtr values;
        std::size_t generation = 0;  ///< number of keep() calls already applied
    };
    /// File columns as they were read.
    struct Source {
        std::unordered_map<std::string, MadeColumn> columns;
    };
    Result<eval::ArrayPtr> presentRows(const MadeColumn& read) const;
    Result<eval::ArrayPtr> codedColumn(const std::string& name);
    /// Replaces a stored column by one value per row.
    Result<eval::ArrayPtr> expand(const std::string& name, eval::ArrayPtr values);

    const SplitInput& split_;
    const expr::ColumnIndex& schema_;
    std::shared_ptr<Source> source_;
    std::unordered_map<std::string, eval::ArrayPtr> selected_;  ///< file columns, present rows only
    std::unordered_map<std::string, MadeColumn> made_;
    std::vector<eval::ArrayPtr> cuts_;                    ///< positions kept by each keep()
    std::optional<std::vector<std::int64_t>> selection_;  ///< offsets in the split; nullopt: all
                                                          ///< rows
    eval::ArrayPtr selectionArray_;
    std::int64_t rows_;
    std::vector<double> weights_;
};

/// Like evaluateRows(), but an expression of one dictionary-coded column is evaluated once per
/// stored value; a result of lists, texts or numbers is dictionary-coded as well.
Result<eval::ArrayPtr> evaluateStored(const expr::Expr& expr, RowSet& rows,
                                      const std::string& place);

/// Evaluates for all present rows; errors begin with "FILE: row N: PLACE: ...", or
/// "FILE: row N, column 'C': PLACE: ..." if the expression reads one column.
Result<eval::ArrayPtr> evaluateRows(const expr::Expr& expr, RowSet& rows, const std::string& place);

}  // namespace millrace::recipe
