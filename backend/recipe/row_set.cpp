#include "backend/recipe/row_set.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <unordered_set>

#include <arrow/array/array_dict.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/number_codes.h"
#include "backend/eval/dictionary_values.h"
#include "backend/eval/evaluation_pool.h"

namespace millrace::recipe {
namespace {

using eval::ArrayPtr;

}  // namespace

RowSet::RowSet(const SplitInput& split, const expr::ColumnIndex& schema)
    : split_(split), schema_(schema), source_(std::make_shared<Source>()), rows_(split.rows) {}

Result<std::vector<ArrayPtr>> ColumnSource::rows(const std::vector<std::string>& names,
                                                 const pages::RowSelection& wantedRows) {
    ASSIGN_OR_RETURN(std::vector<ArrayPtr> arrays, columns(names));
    for (ArrayPtr& array : arrays) {
        ASSIGN_OR_RETURN(array,
                         pages::selectRows(std::move(array), wantedRows, eval::evaluationPool()));
        ASSIGN_OR_RETURN(array, pages::zeroNullFloats(std::move(array), eval::evaluationPool()));
    }
    return arrays;
}

Status RowSet::prefetch(const std::vector<std::string>& names, bool mayRepeat,
                        bool mayCodeNumbers) {
    std::unordered_set<std::string_view> asked;
    std::vector<std::string> wanted;
    for (const std::string& name : names) {
        // Names without an entry are columns that steps made, or errors that column() reports.
        if (!isAtHand(name) && schema_.find(name) != nullptr && asked.insert(name).second) {
            wanted.push_back(name);
        }
    }
    return readAll(wanted, mayRepeat, mayCodeNumbers);
}

Status RowSet::prefetchKnown(const std::vector<std::string>& names, bool mayRepeat) {
    std::vector<std::string> wanted;
    std::ranges::copy_if(names, std::back_inserter(wanted),
                         [this](const std::string& name) { return !isAtHand(name); });
    return readAll(wanted, mayRepeat, /*mayCodeNumbers=*/false);
}

Status RowSet::readAll(const std::vector<std::string>& wanted, bool mayRepeat,
                       bool mayCodeNumbers) {
    if (wanted.empty() || rows_ == 0) {
        return okStatus();
    }
    const pages::RowSelection wantedRows{selection_.has_value() ? &*selection_ : nullptr, mayRepeat,
                                         /*mayCode=*/true, mayCodeNumbers};
    ASSIGN_OR_RETURN(std::vector<ArrayPtr> arrays, split_.source->rows(wanted, wantedRows));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (arrays[i]->length() != rows_) {
            return internalError("column ", wanted[i], " has ", arrays[i]->length(),
                                 " values instead of ", rows_);
        }
        // Each cut (a step that dropped rows) begins a generation. A column remembers the
        // generation in which it was read, and is cut only when it is used.
        source_->columns[wanted[i]] = {std::move(arrays[i]), cuts_.size()};
    }
    return okStatus();
}

// Reduces a column that was read before rows were dropped to the remaining rows.
Result<ArrayPtr> RowSet::presentRows(const MadeColumn& read) const {
    // One gather by the combined selection instead of one per cut.
    if (read.generation == 0 && selection_.has_value()) {
        return eval::takeRows(read.values, selectionArray_);
    }
    ArrayPtr values = read.values;
    for (std::size_t g = read.generation; g < cuts_.size(); ++g) {
        ASSIGN_OR_RETURN(values, eval::takeRows(values, cuts_[g]));
    }
    return values;
}

Result<ArrayPtr> RowSet::column(const std::string& name) {
    ASSIGN_OR_RETURN(ArrayPtr values, storedColumn(name));
    if (values->type_id() != arrow::Type::DICTIONARY) {
        return values;
    }
    return expand(name, std::move(values));
}

Result<ArrayPtr> RowSet::expand(const std::string& name, ArrayPtr values) {
    ASSIGN_OR_RETURN(values, pages::expandStored(std::move(values), eval::evaluationPool()));
    const auto made = made_.find(name);
    // Kept, so that the next use does not expand it again.
    return (made != made_.end() ? made->second.values : selected_[name]) = std::move(values);
}

Result<ArrayPtr> RowSet::storedColumn(const std::string& name) {
    ASSIGN_OR_RETURN(ArrayPtr values, codedColumn(name));
    return arrays::isNumberCodes(*values) ? expand(name, std::move(values)) : values;
}

Result<ArrayPtr> RowSet::codedColumn(const std::string& name) {
    const auto made = made_.find(name);
    if (made != made_.end()) {
        MadeColumn& column = made->second;
        // Columns that steps made exist only for the rows of their generation.
        while (column.generation < cuts_.size()) {
            ASSIGN_OR_RETURN(column.values,
                             eval::takeRows(column.values, cuts_[column.generation]));
            ++column.generation;
        }
        return column.values;
    }
    const auto selected = selected_.find(name);
    if (selected != selected_.end()) {
        return selected->second;
    }
    const auto known = source_->columns.find(name);
    if (rows_ > 0 && known != source_->columns.end() && known->second.generation == cuts_.size()) {
        return known->second.values;
    }
    const expr::Field* field = schema_.find(name);
    if (field == nullptr) {
        return internalError("no column ", name);
    }
    if (rows_ == 0) {
        return arrays::nullArray(field->type, 0, eval::evaluationPool());
    }
    RETURN_IF_ERROR(prefetch({name}));
    const MadeColumn& read = source_->columns[name];
    if (read.generation == cuts_.size()) {
        return read.values;
    }
    ASSIGN_OR_RETURN(ArrayPtr part, presentRows(read));
    return selected_.emplace(name, std::move(part)).first->second;
}

Status RowSet::keep(const std::vector<std::int64_t>& positions) {
    if (static_cast<std::int64_t>(positions.size()) == rows_) {
        return okStatus();
    }
    if (source_.use_count() > 1) {
        source_ = std::make_shared<Source>(*source_);  // from here on the copies have rows of their
                                                       // own
    }
    ASSIGN_OR_RETURN(ArrayPtr cut, eval::indexArray(positions, false));
    cuts_.push_back(std::move(cut));
    std::vector<std::int64_t> selection;
    selection.reserve(positions.size());
    for (const std::int64_t position : positions) {
        selection.push_back(selection_ ? (*selection_)[static_cast<std::size_t>(position)]
                                       : position);
    }
    if (!weights_.empty()) {
        for (std::size_t i = 0; i < positions.size(); ++i) {
            // In place: positions ascend, so none is overwritten before it is read.
            weights_[i] = weights_[static_cast<std::size_t>(positions[i])];
        }
        weights_.resize(positions.size());
    }
    rows_ = static_cast<std::int64_t>(positions.size());
    selected_.clear();
    selection_ = std::move(selection);
    ASSIGN_OR_RETURN(selectionArray_, eval::indexArray(*selection_, false));
    return okStatus();
}

// The file's column will not be used again: frees it unless a copy still needs it.
void RowSet::set(const std::string& name, ArrayPtr values) {
    selected_.erase(name);
    if (source_.use_count() == 1) {
        source_->columns.erase(name);
    }
    made_[name] = MadeColumn{std::move(values), cuts_.size()};
}

std::uint64_t RowSet::rowNumber(std::int64_t position) const {
    const std::int64_t offset =
        selection_ ? (*selection_)[static_cast<std::size_t>(position)] : position;
    return split_.firstRow + static_cast<std::uint64_t>(offset);
}

std::vector<std::uint64_t> RowSet::rowNumbers() const {
    std::vector<std::uint64_t> numbers(static_cast<std::size_t>(rows_));
    for (std::int64_t i = 0; i < rows_; ++i) {
        numbers[static_cast<std::size_t>(i)] = rowNumber(i);
    }
    return numbers;
}

std::vector<double>& RowSet::mutableWeights() {
    if (weights_.empty()) {
        weights_.assign(static_cast<std::size_t>(rows_), 1.0);
    }
    return weights_;
}

Result<StoredValues> RowSet::storedValues(const std::string& name) {
    RETURN_IF_ERROR(prefetch({name}, /*mayRepeat=*/true, /*mayCodeNumbers=*/true));
    ASSIGN_OR_RETURN(ArrayPtr column, codedColumn(name));
    if (column->type_id() != arrow::Type::DICTIONARY) {
        return StoredValues{std::move(column), nullptr};
    }
    const auto& coded = static_cast<const arrow::DictionaryArray&>(*column);
    return StoredValues{coded.dictionary(), coded.indices()};
}

Result<ArrayPtr> StoredValues::asRows(ArrayPtr made) const {
    if (indices == nullptr) {
        return made;
    }
    const bool isWord = arrays::isWord(*made->type()) && indices->null_count() == 0;
    // Other types are expanded: later steps read only words, texts and lists as codes.
    if (!isWord && made->type_id() != arrow::Type::LIST && made->type_id() != arrow::Type::STRING) {
        return indices->null_count() > 0
                   ? eval::takeRows(made, indices)
                   : eval::gatherEntries({values, indices}, made, eval::evaluationPool());
    }
    const auto type = arrow::dictionary(indices->type(), made->type());
    return std::make_shared<arrow::DictionaryArray>(type, indices, std::move(made));
}

namespace {

// Presents each stored value as a row.
class StoredInput final : public eval::ExprInput {
 public:
    StoredInput(std::string name, ArrayPtr values)
        : name_(std::move(name)), values_(std::move(values)) {}
    std::int64_t rows() const override { return values_->length(); }
    Result<ArrayPtr> column(const std::string& name) override {
        return name == name_ ? Result<ArrayPtr>(values_) : internalError("no column ", name);
    }

 private:
    const std::string name_;
    const ArrayPtr values_;
};

}  // namespace

Result<ArrayPtr> evaluateStored(const expr::Expr& expr, RowSet& rows, const std::string& place) {
    const std::vector<std::string> names = expr::collectColumns(expr);
    if (names.size() == 1) {
        ASSIGN_OR_RETURN(const StoredValues stored, rows.storedValues(names[0]));
        if (stored.isWorth()) {
            StoredInput input(names[0], stored.values);
            Result<ArrayPtr> made = eval::evaluate(expr, input);
            // A failing stored value may belong to no row; if it does, the error must name its row.
            if (made.ok()) {
                return stored.asRows(*std::move(made));
            }
        }
    }
    return evaluateRows(expr, rows, place);
}

Result<ArrayPtr> evaluateRows(const expr::Expr& expr, RowSet& rows, const std::string& place) {
    RETURN_IF_ERROR(rows.prefetch(expr::collectColumns(expr)));
    std::int64_t failed = -1;
    Result<ArrayPtr> values = eval::evaluate(expr, rows, &failed);
    if (values.status().code() == absl::StatusCode::kResourceExhausted) {
        return annotate(values.status(), place);
    }
    if (values.ok() || values.status().code() != absl::StatusCode::kInvalidArgument) {
        return values;
    }
    if (failed < 0) {
        return invalidArgument(place, ": ", messageOf(values.status()));
    }
    const std::vector<std::string> columns = expr::collectColumns(expr);
    return invalidArgument(rows.split().relativePath, ": row ", rows.rowNumber(failed),
                           columns.size() == 1 ? strCat(", column '", columns[0], "'") : "", ": ",
                           place, ": ", messageOf(values.status()));
}

}  // namespace millrace::recipe
