#include "backend/arrays/array_check.h"

#include <memory>

#include <arrow/array/array_base.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/extension_type.h>
#include <arrow/record_batch.h>
#include <arrow/status.h>
#include <arrow/type.h>

namespace millrace::arrays {
namespace {

using arrow::Type;
using TypePtr = std::shared_ptr<arrow::DataType>;

TypePtr layoutOf(const TypePtr& type);

std::shared_ptr<arrow::Field> layoutOf(const arrow::Field& field) {
    return field.WithType(layoutOf(field.type()));
}

/// The type with the same buffers but without constraints on values: texts need not be UTF-8, dates
/// need not be whole days, decimals may exceed their precision.
TypePtr layoutOf(const TypePtr& type) {
    switch (type->id()) {
        case Type::STRING:
            return arrow::binary();
        case Type::LARGE_STRING:
            return arrow::large_binary();
        case Type::STRING_VIEW:
            return arrow::binary_view();
        case Type::DATE64:
        case Type::TIME64:
            return arrow::int64();
        case Type::TIME32:
            return arrow::int32();
        case Type::DECIMAL32:
        case Type::DECIMAL64:
        case Type::DECIMAL128:
        case Type::DECIMAL256:
            return arrow::fixed_size_binary(
                static_cast<const arrow::FixedSizeBinaryType&>(*type).byte_width());
        case Type::EXTENSION:
            return layoutOf(static_cast<const arrow::ExtensionType&>(*type).storage_type());
        case Type::DICTIONARY: {
            const auto& dictionary = static_cast<const arrow::DictionaryType&>(*type);
            return arrow::dictionary(dictionary.index_type(), layoutOf(dictionary.value_type()));
        }
        case Type::RUN_END_ENCODED: {
            const auto& runs = static_cast<const arrow::RunEndEncodedType&>(*type);
            return arrow::run_end_encoded(runs.run_end_type(), layoutOf(runs.value_type()));
        }
        case Type::LIST:
            return arrow::list(layoutOf(*type->field(0)));
        case Type::LARGE_LIST:
            return arrow::large_list(layoutOf(*type->field(0)));
        case Type::LIST_VIEW:
            return arrow::list_view(layoutOf(*type->field(0)));
        case Type::LARGE_LIST_VIEW:
            return arrow::large_list_view(layoutOf(*type->field(0)));
        case Type::FIXED_SIZE_LIST:
            return arrow::fixed_size_list(
                layoutOf(*type->field(0)),
                static_cast<const arrow::FixedSizeListType&>(*type).list_size());
        case Type::STRUCT: {
            arrow::FieldVector fields;
            for (const auto& field : type->fields()) {
                fields.push_back(layoutOf(*field));
            }
            return arrow::struct_(std::move(fields));
        }
        default:
            return type;  // maps and unions cannot be columns: they are rejected earlier
    }
}

std::shared_ptr<arrow::ArrayData> withLayout(const arrow::ArrayData& data) {
    auto plain = std::make_shared<arrow::ArrayData>(data);
    plain->type = layoutOf(data.type);
    if (plain->type->id() == Type::BINARY_VIEW) {
        // Arrow's casts follow views even under nulls.
        plain->buffers[0] = nullptr;
        plain->null_count = 0;
    }
    if (plain->type->id() != Type::MAP && plain->type->id() != Type::SPARSE_UNION &&
        plain->type->id() != Type::DENSE_UNION) {
        for (auto& child : plain->child_data) {
            child = child == nullptr ? nullptr : withLayout(*child);
        }
    }
    if (plain->dictionary != nullptr) {
        plain->dictionary = withLayout(*plain->dictionary);
    }
    return plain;
}

Status corrupt(const arrow::Status& status, std::string_view place) {
    const std::string_view what = status.message();
    return dataLoss(place, ": corrupt: ", what.substr(0, what.find('\n')));
}

}  // namespace

Status checkArray(const arrow::Array& array, std::string_view place) {
    arrow::Status status = array.Validate();
    if (status.ok()) {
        status = arrow::MakeArray(withLayout(*array.data()))->ValidateFull();
    }
    return status.ok() ? okStatus() : corrupt(status, place);
}

Status checkBuffers(const arrow::RecordBatch& batch, std::string_view place) {
    const arrow::Status status = batch.Validate();
    return status.ok() ? okStatus() : corrupt(status, place);
}

}  // namespace millrace::arrays
