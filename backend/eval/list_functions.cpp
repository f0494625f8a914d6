// Functions over lists.
#include <algorithm>
#include <utility>

#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_primitive.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/function_calls.h"
#include "backend/eval/hash_rows.h"
#include "backend/eval/list_view.h"

namespace millrace::eval {
namespace {

using F = expr::FunctionId;
using expr::ExprNode;

Result<Datum> listLength(const ListView& list) {
    arrow::Int64Builder builder(evaluationPool());
    for (const std::int64_t count : list.counts) {
        const arrow::Status status = count < 0 ? builder.AppendNull() : builder.Append(count);
        RETURN_IF_ERROR(arrays::fromArrow(status, "length"));
    }
    return finished(builder);
}

Result<Datum> listExtract(const ListView& list, std::int64_t index) {
    arrow::Int64Builder builder(evaluationPool());
    for (std::size_t i = 0; i < list.counts.size(); ++i) {
        const std::int64_t at = index > 0 ? index - 1 : list.counts[i] + index;
        const bool isInside = index != 0 && at >= 0 && at < list.counts[i];
        const arrow::Status status =
            isInside ? builder.Append(list.begins[i] + at) : builder.AppendNull();
        RETURN_IF_ERROR(arrays::fromArrow(status, "list_extract"));
    }
    ASSIGN_OR_RETURN(const Datum indices, finished(builder));
    ASSIGN_OR_RETURN(ArrayPtr out, takeRows(list.elements, indices.make_array()));
    return Datum(std::move(out));
}

Result<Datum> listContains(const ListView& list, const Datum& wanted, std::int64_t rows) {
    ASSIGN_OR_RETURN(const ArrayPtr values, asArray(wanted, rows));
    arrow::Int64Builder elements(evaluationPool()), parents(evaluationPool());
    for (std::size_t i = 0; i < list.counts.size(); ++i) {
        for (std::int64_t k = 0; k < list.counts[i]; ++k) {
            arrow::Status status = elements.Append(list.begins[i] + k);
            status &= parents.Append(static_cast<std::int64_t>(i));
            RETURN_IF_ERROR(arrays::fromArrow(status, "list_contains"));
        }
    }
    ASSIGN_OR_RETURN(const Datum elementRows, finished(elements));
    ASSIGN_OR_RETURN(const Datum parentRows, finished(parents));
    ASSIGN_OR_RETURN(const ArrayPtr left, takeRows(list.elements, elementRows.make_array()));
    ASSIGN_OR_RETURN(const ArrayPtr right, takeRows(values, parentRows.make_array()));
    ASSIGN_OR_RETURN(const Datum equal, callKernel("equal", {Datum(left), Datum(right)}));
    const auto hits = std::static_pointer_cast<arrow::BooleanArray>(equal.make_array());
    arrow::BooleanBuilder builder(evaluationPool());
    std::int64_t at = 0;
    for (std::size_t i = 0; i < list.counts.size(); ++i) {
        bool isFound = false;
        for (std::int64_t k = 0; k < list.counts[i]; ++k, ++at) {
            isFound |= hits->IsValid(at) && hits->Value(at);
        }
        const bool isNull = list.isNull(i) || values->IsNull(static_cast<std::int64_t>(i));
        const arrow::Status status = isNull ? builder.AppendNull() : builder.Append(isFound);
        RETURN_IF_ERROR(arrays::fromArrow(status, "list_contains"));
    }
    return finished(builder);
}

/// Elements `first` to `last`, counted from 1, or from the end if below 0.
Result<Datum> listSlice(ListView list, std::int64_t first, std::int64_t last) {
    for (std::size_t i = 0; i < list.counts.size(); ++i) {
        const std::int64_t count = list.count(i);
        const std::int64_t from = std::max<std::int64_t>(first < 0 ? count + first : first - 1, 0);
        const std::int64_t to = std::min(last < 0 ? count + last + 1 : last, count);
        if (!list.isNull(i)) {
            list.begins[i] += from;
            list.counts[i] = std::max<std::int64_t>(to - from, 0);
        }
    }
    ASSIGN_OR_RETURN(ArrayPtr out, copyLists(list));
    return Datum(std::move(out));
}

/// The step `hash`, as a function.
Result<Datum> hashCall(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    ASSIGN_OR_RETURN(const ArrayPtr values, asArray(c[0], rows));
    ASSIGN_OR_RETURN(ArrayPtr ids, hashIds(values, intArgument(node, 1, 2),
                                           static_cast<std::uint64_t>(intArgument(node, 2, 0))));
    return Datum(std::move(ids));
}

Result<Datum> ofLists(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    ASSIGN_OR_RETURN(const ArrayPtr lists, asArray(c[0], rows));
    ListView list = viewLists(*lists);
    switch (node.function->id) {
        case F::kListLength:
            return listLength(list);
        case F::kListExtract:
            return listExtract(list, intArgument(node, 1, 1));
        case F::kListSlice:
            return listSlice(std::move(list), intArgument(node, 1, 1), intArgument(node, 2, -1));
        case F::kListContains:
            return listContains(list, c[1], rows);
        default:
            return internalError("function ", node.function->name, " is not one over lists");
    }
}

constexpr FunctionKernel kListKernels[] = {
    {F::kListLength, ofLists}, {F::kListContains, ofLists}, {F::kListExtract, ofLists},
    {F::kListSlice, ofLists},  {F::kHashIds, hashCall},     {F::kListHashIds, hashCall},
};

}  // namespace

std::span<const FunctionKernel> listKernels() {
    return kListKernels;
}

}  // namespace millrace::eval
