#include "backend/arrays/leaf_values.h"

#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/type.h>

namespace millrace::arrays {

using arrow::Type;

const arrow::DataType& leafType(const arrow::DataType& type) {
    const auto* list = dynamic_cast<const arrow::BaseListType*>(&type);
    return list == nullptr ? type : *list->value_type();
}

Result<std::shared_ptr<arrow::Array>> mapLeaves(const std::shared_ptr<arrow::Array>& array,
                                                const ValueMap& map) {
    const arrow::DataType& type = *array->type();
    if (&leafType(type) == &type) {
        return map(array);
    }
    std::shared_ptr<arrow::ArrayData> data = array->data()->Copy();
    ASSIGN_OR_RETURN(const auto values, map(arrow::MakeArray(data->child_data.front())));
    const auto field = arrow::field("element", values->type());
    data->child_data = {values->data()};
    if (type.id() == Type::LIST) {
        data->type = arrow::list(field);
    } else if (type.id() == Type::LARGE_LIST) {
        data->type = arrow::large_list(field);
    } else if (type.id() == Type::FIXED_SIZE_LIST) {
        data->type = arrow::fixed_size_list(
            field, static_cast<const arrow::FixedSizeListType&>(type).list_size());
    } else {
        return internalError("lists of type ", type.ToString());
    }
    return arrow::MakeArray(data);
}

}  // namespace millrace::arrays
