#include "backend/recipe/row_set.h"

#include <arrow/array/builder_primitive.h>

#include "backend/dataset/arrow_bridge.h"

namespace millrace::recipe {

RowSet::RowSet(const SplitInput& split, const spec::Schema& schema)
    : split_(split), schema_(schema), source_(std::make_shared<Source>()), rows_(split.rows) {}

Status RowSet::prefetch(const std::vector<std::string>& names) {
    std::vector<std::string> wanted;
    for (const std::string& name : names) {
        const bool isDue = !made_.contains(name) && !source_->columns.contains(name) &&
                           schema_.find(name) != nullptr;
        if (isDue && std::find(wanted.begin(), wanted.end(), name) == wanted.end()) {
            wanted.push_back(name);
        }
    }
    if (wanted.empty() || rows_ == 0) {
        return okStatus();
    }
    ASSIGN_OR_RETURN(std::vector<ArrayPtr> arrays, split_.source->columns(wanted));
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (arrays[i]->length() != split_.rows) {
            return internalError("column ", wanted[i], " has ", arrays[i]->length(),
                                 " values, the split ", split_.rows);
        }
        source_->columns[wanted[i]] = std::move(arrays[i]);
    }
    return okStatus();
}

Result<ArrayPtr> RowSet::column(const std::string& name) {
    const auto made = made_.find(name);
    if (made != made_.end()) {
        MadeColumn& column = made->second;
        while (column.generation < cuts_.size()) {
            ASSIGN_OR_RETURN(column.values, takeRows(column.values, cuts_[column.generation]));
            ++column.generation;
        }
        return column.values;
    }
    const auto selected = selected_.find(name);
    if (selected != selected_.end()) {
        return selected->second;
    }
    const spec::Field* field = schema_.find(name);
    if (field == nullptr) {
        return internalError("no column ", name);
    }
    if (rows_ == 0) {
        return dataset::nullArray(field->type, 0, arrow::default_memory_pool());
    }
    RETURN_IF_ERROR(prefetch({name}));
    const ArrayPtr& whole = source_->columns[name];
    if (!selection_.has_value()) {
        return whole;
    }
    ASSIGN_OR_RETURN(ArrayPtr part, takeRows(whole, selectionArray_));
    return selected_.emplace(name, std::move(part)).first->second;
}

Status RowSet::keep(const std::vector<std::int64_t>& positions) {
    if (static_cast<std::int64_t>(positions.size()) == rows_) {
        return okStatus();
    }
    if (!made_.empty() || !cuts_.empty()) {
        ASSIGN_OR_RETURN(ArrayPtr cut, indexArray(positions, false));
        cuts_.push_back(std::move(cut));
    }
    std::vector<std::int64_t> selection;
    selection.reserve(positions.size());
    for (const std::int64_t position : positions) {
        selection.push_back(selection_ ? (*selection_)[static_cast<std::size_t>(position)]
                                       : position);
    }
    if (!weights_.empty()) {
        for (std::size_t i = 0; i < positions.size(); ++i) {
            weights_[i] = weights_[static_cast<std::size_t>(positions[i])];
        }
        weights_.resize(positions.size());
    }
    rows_ = static_cast<std::int64_t>(positions.size());
    selected_.clear();
    selection_ = std::move(selection);
    ASSIGN_OR_RETURN(selectionArray_, indexArray(*selection_, false));
    return okStatus();
}

void RowSet::set(const std::string& name, ArrayPtr values) {
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

Result<ArrayPtr> indexArray(const std::vector<std::int64_t>& numbers, bool hasNulls) {
    arrow::Int64Builder builder;
    arrow::Status status = builder.Reserve(static_cast<std::int64_t>(numbers.size()));
    for (std::size_t i = 0; i < numbers.size() && status.ok(); ++i) {
        if (hasNulls && numbers[i] < 0) {
            builder.UnsafeAppendNull();
        } else {
            builder.UnsafeAppend(numbers[i]);
        }
    }
    ArrayPtr array;
    if (status.ok()) {
        status = builder.Finish(&array);
    }
    RETURN_IF_ERROR(dataset::fromArrow(status, "row numbers"));
    return array;
}

Result<ArrayPtr> evaluateRows(const spec::Expr& expr, RowSet& rows, const std::string& place) {
    RETURN_IF_ERROR(rows.prefetch(spec::collectColumns(expr)));
    std::int64_t failed = -1;
    Result<ArrayPtr> values = evaluate(expr, rows, &failed);
    if (values.ok() || values.status().code() != absl::StatusCode::kInvalidArgument) {
        return values;
    }
    if (failed < 0) {
        return invalidArgument(place, ": ", messageOf(values.status()));
    }
    return invalidArgument(rows.split().relativePath, ": row ", rows.rowNumber(failed), ": ", place,
                           ": ", messageOf(values.status()));
}

}  // namespace millrace::recipe
