#include "backend/arrays/arrow_bridge.h"

#include <functional>
#include <utility>

#include <arrow/array/array_base.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/buffer_builder.h>
#include <arrow/chunked_array.h>
#include <arrow/compute/api_vector.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/exec.h>
#include <arrow/datum.h>
#include <arrow/extension_type.h>
#include <arrow/type.h>

#include "backend/arrays/decimals.h"
#include "backend/arrays/kernels.h"
#include "backend/arrays/leaf_form.h"

namespace millrace::arrays {
namespace {

using arrow::Type;

// The type of a column's values: of the elements if it has lists.
const arrow::DataType& leafType(const arrow::DataType& type) {
    const auto* list = dynamic_cast<const arrow::BaseListType*>(&type);
    return list == nullptr ? type : *list->value_type();
}

using ValueMap =
    std::function<Result<std::shared_ptr<arrow::Array>>(const std::shared_ptr<arrow::Array>&)>;

// Returns `map` of the array or, if it has lists (list, large list, fixed-size list), the same
// lists with `map` of their elements. The map must keep the number of values.
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

constexpr std::pair<Type::type, expr::TypeKind> kScalarKinds[] = {
    {Type::NA, expr::TypeKind::kNull},
    {Type::BOOL, expr::TypeKind::kBool},
    {Type::INT8, expr::TypeKind::kInt8},
    {Type::INT16, expr::TypeKind::kInt16},
    {Type::INT32, expr::TypeKind::kInt32},
    {Type::INT64, expr::TypeKind::kInt64},
    {Type::UINT8, expr::TypeKind::kUint8},
    {Type::UINT16, expr::TypeKind::kUint16},
    {Type::UINT32, expr::TypeKind::kUint32},
    {Type::UINT64, expr::TypeKind::kUint64},
    {Type::HALF_FLOAT, expr::TypeKind::kFloat},
    {Type::FLOAT, expr::TypeKind::kFloat},
    {Type::DOUBLE, expr::TypeKind::kDouble},
    {Type::DECIMAL32, expr::TypeKind::kDecimal},
    {Type::DECIMAL64, expr::TypeKind::kDecimal},
    {Type::DECIMAL128, expr::TypeKind::kDecimal},
    {Type::TIME32, expr::TypeKind::kInt64},
    {Type::TIME64, expr::TypeKind::kInt64},
    {Type::STRING, expr::TypeKind::kString},
    {Type::LARGE_STRING, expr::TypeKind::kString},
    {Type::STRING_VIEW, expr::TypeKind::kString},
    {Type::BINARY, expr::TypeKind::kString},
    {Type::LARGE_BINARY, expr::TypeKind::kString},
    {Type::BINARY_VIEW, expr::TypeKind::kString},
    {Type::FIXED_SIZE_BINARY, expr::TypeKind::kString},
    {Type::DATE32, expr::TypeKind::kDate},
    {Type::DATE64, expr::TypeKind::kDate},
    {Type::TIMESTAMP, expr::TypeKind::kTimestamp},
};

std::shared_ptr<arrow::DataType> scalarArrowType(expr::TypeKind kind) {
    // In the order of TypeKind.
    constexpr const std::shared_ptr<arrow::DataType>& (*kTypes[])() = {
        arrow::null,    arrow::boolean, arrow::int8,   arrow::int16,  arrow::int32,
        arrow::int64,   arrow::uint8,   arrow::uint16, arrow::uint32, arrow::uint64,
        arrow::float32, arrow::float64, nullptr,       arrow::utf8,   arrow::date32};
    if (kind == expr::TypeKind::kTimestamp) {
        return arrow::timestamp(arrow::TimeUnit::MICRO);
    }
    const auto make = kTypes[static_cast<std::size_t>(kind)];
    return make == nullptr ? nullptr : make();  // a decimal's digits are not known
}

Result<std::shared_ptr<arrow::Array>> castPinned(const std::shared_ptr<arrow::Array>& array,
                                                 const std::shared_ptr<arrow::DataType>& type,
                                                 std::string_view place, arrow::MemoryPool* pool) {
    arrow::compute::ExecContext context(pool);
    context.set_use_threads(false);
    arrow::compute::CastOptions options = arrow::compute::CastOptions::Safe(type);
    options.allow_time_truncate = true;  // units other than nanoseconds
    options.allow_invalid_utf8 = true;   // binaries are hashed unchanged
    ASSIGN_OR_RETURN(arrow::Datum datum,
                     fromArrow(arrow::compute::Cast(array, options, &context), place));
    return datum.make_array();
}

constexpr std::int32_t kDigitsMax = arrow::Decimal128Type::kMaxPrecision;

const arrow::DataType& valuesOf(const arrow::DataType& list) {
    return *static_cast<const arrow::BaseListType&>(list).value_type();
}

/// An intermediate type for Arrow's casts to the pinned type; null if they reach it directly.
std::shared_ptr<arrow::DataType> between(const arrow::DataType& type) {
    switch (type.id()) {
        case Type::DICTIONARY:
            return static_cast<const arrow::DictionaryType&>(type).value_type();
        case Type::EXTENSION:
            return static_cast<const arrow::ExtensionType&>(type).storage_type();
        case Type::TIME32:
            return arrow::time64(arrow::TimeUnit::MICRO);
        case Type::TIME64:
            return static_cast<const arrow::Time64Type&>(type).unit() == arrow::TimeUnit::MICRO
                       ? nullptr
                       : arrow::time64(arrow::TimeUnit::MICRO);
        case Type::FIXED_SIZE_BINARY:
            return arrow::binary();
        case Type::LIST:
        case Type::LARGE_LIST:
        case Type::FIXED_SIZE_LIST:
            break;
        default:
            return nullptr;
    }
    std::shared_ptr<arrow::DataType> values = between(valuesOf(type));
    if (values == nullptr) {
        return nullptr;
    }
    const auto field = arrow::field("element", std::move(values));
    if (type.id() == Type::FIXED_SIZE_LIST) {
        return arrow::fixed_size_list(
            field, static_cast<const arrow::FixedSizeListType&>(type).list_size());
    }
    return type.id() == Type::LIST ? arrow::list(field) : arrow::large_list(field);
}

bool isListView(const arrow::DataType& type) {
    return type.id() == Type::LIST_VIEW || type.id() == Type::LARGE_LIST_VIEW;
}

/// Converts nanoseconds to microseconds, rounded down: also before 1970, where a division would
/// round up.
Result<std::shared_ptr<arrow::Array>> wholeMicros(const std::shared_ptr<arrow::Array>& array,
                                                  std::string_view place, arrow::MemoryPool* pool) {
    arrow::TimestampBuilder builder(arrow::timestamp(arrow::TimeUnit::MICRO), pool);
    RETURN_IF_ERROR(fromArrow(builder.Reserve(array->length()), place));
    const auto& times = static_cast<const arrow::TimestampArray&>(*array);
    for (std::int64_t row = 0; row < times.length(); ++row) {
        if (times.IsNull(row)) {
            builder.UnsafeAppendNull();
        } else {
            builder.UnsafeAppend(microsOfNanos(times.Value(row)));
        }
    }
    return fromArrow(builder.Finish(), place);
}

/// Conversions that Arrow's own casts do wrong: decimals to doubles, nanoseconds to microseconds.
Result<std::shared_ptr<arrow::Array>> leavesExactly(const std::shared_ptr<arrow::Array>& array,
                                                    const expr::DataType& type,
                                                    std::string_view place,
                                                    arrow::MemoryPool* pool) {
    const arrow::DataType& leaf = leafType(*array->type());
    const bool isDecimal = dynamic_cast<const arrow::DecimalType*>(&leaf) != nullptr;
    if (isDecimal && type.kind == expr::TypeKind::kDouble) {
        return mapLeaves(array, [pool](const std::shared_ptr<arrow::Array>& values) {
            return decimalsAsDoubles(*values, pool);
        });
    }
    const bool isNano =
        leaf.id() == Type::TIMESTAMP &&
        static_cast<const arrow::TimestampType&>(leaf).unit() == arrow::TimeUnit::NANO;
    if (isNano && type.kind == expr::TypeKind::kTimestamp) {
        return mapLeaves(array, [place, pool](const std::shared_ptr<arrow::Array>& values) {
            return wholeMicros(values, place, pool);
        });
    }
    return array;
}

/// Joins a list view's lists by their offsets and sizes: Arrow 26's own cast loses elements if null
/// or empty lists are between others. `View`: ListViewArray or LargeListViewArray.
template <class View>
Result<std::shared_ptr<arrow::Array>> listsBySize(const arrow::Array& array, std::string_view place,
                                                  arrow::MemoryPool* pool) {
    const auto& views = static_cast<const View&>(array);
    arrow::Int64Builder elements(pool);
    arrow::TypedBufferBuilder<std::int64_t> ends(pool);
    arrow::TypedBufferBuilder<bool> valid(pool);
    RETURN_IF_ERROR(fromArrow(ends.Append(0), place));
    for (std::int64_t row = 0; row < views.length(); ++row) {
        const std::int64_t from = views.value_offset(row), count = views.value_length(row);
        const bool isValid = views.IsValid(row);
        if (isValid && (from < 0 || count < 0 || from > views.values()->length() - count)) {
            return dataLoss(place, ": corrupt: list ", row, " is outside its values");
        }
        for (std::int64_t i = from; isValid && i < from + count; ++i) {
            RETURN_IF_ERROR(fromArrow(elements.Append(i), place));
        }
        RETURN_IF_ERROR(fromArrow(ends.Append(elements.length()), place));
        RETURN_IF_ERROR(fromArrow(valid.Append(isValid), place));
    }
    ASSIGN_OR_RETURN(const auto indices, fromArrow(elements.Finish(), place));
    std::shared_ptr<arrow::Array> values = views.values();
    if (values->type_id() == Type::STRING_VIEW || values->type_id() == Type::BINARY_VIEW) {
        ASSIGN_OR_RETURN(values, castPinned(values, arrow::utf8(), place, pool));  // Take does not
                                                                                   // support views
    }
    arrow::compute::ExecContext context(pool);
    context.set_use_threads(false);
    ASSIGN_OR_RETURN(
        const arrow::Datum taken,
        fromArrow(arrow::compute::Take(values, indices, arrow::compute::TakeOptions::Defaults(),
                                       &context),
                  place));
    ASSIGN_OR_RETURN(const auto offsets, fromArrow(ends.Finish(), place));
    ASSIGN_OR_RETURN(const auto bits, fromArrow(valid.Finish(), place));
    return std::make_shared<arrow::LargeListArray>(
        arrow::large_list(taken.type()), views.length(), offsets, taken.make_array(),
        views.null_count() == 0 ? nullptr : bits, views.null_count());
}

Result<std::shared_ptr<arrow::Array>> listsOfView(const arrow::Array& array, std::string_view place,
                                                  arrow::MemoryPool* pool) {
    return array.type_id() == Type::LIST_VIEW
               ? listsBySize<arrow::ListViewArray>(array, place, pool)
               : listsBySize<arrow::LargeListViewArray>(array, place, pool);
}

/// The decimal128 type with the same digits as a decimal of any width; null for other types.
std::shared_ptr<arrow::DataType> decimal128Of(const arrow::DataType& type) {
    const auto* decimal = dynamic_cast<const arrow::DecimalType*>(&type);
    return decimal == nullptr ? nullptr : arrow::decimal128(decimal->precision(), decimal->scale());
}

}  // namespace

Status fromArrow(const arrow::Status& status, std::string_view place) {
    if (status.ok()) {
        return okStatus();
    }
    std::string_view what = status.message();
    what = what.substr(0, what.find('\n'));
    if (status.IsOutOfMemory() || status.IsCapacityError()) {
        return resourceExhausted(place, ": ", what);
    }
    if (status.IsIOError() || status.IsSerializationError()) {
        return dataLoss(place, ": ", what);
    }
    return invalidArgument(place, ": ", what);
}

bool toSpecType(const arrow::DataType& type, expr::DataType& out) {
    out = expr::DataType{};
    switch (type.id()) {
        case Type::DICTIONARY:
            return toSpecType(*static_cast<const arrow::DictionaryType&>(type).value_type(), out);
        case Type::EXTENSION:
            return toSpecType(*static_cast<const arrow::ExtensionType&>(type).storage_type(), out);
        case Type::RUN_END_ENCODED:
            return toSpecType(*static_cast<const arrow::RunEndEncodedType&>(type).value_type(),
                              out);
        case Type::DECIMAL256:
            out.kind = static_cast<const arrow::DecimalType&>(type).precision() <= kDigitsMax
                           ? expr::TypeKind::kDecimal
                           : expr::TypeKind::kDouble;
            return true;
        case Type::LIST:
        case Type::LARGE_LIST:
        case Type::LIST_VIEW:
        case Type::LARGE_LIST_VIEW:
        case Type::FIXED_SIZE_LIST: {
            expr::DataType element;
            if (valuesOf(type).id() == Type::RUN_END_ENCODED ||
                !toSpecType(valuesOf(type), element) || element.isList) {
                return false;
            }
            out.kind =
                element.kind == expr::TypeKind::kDecimal ? expr::TypeKind::kDouble : element.kind;
            out.isList = true;
            if (type.id() == Type::FIXED_SIZE_LIST) {
                out.listSize = static_cast<const arrow::FixedSizeListType&>(type).list_size();
            }
            return true;
        }
        default:
            break;
    }
    for (const auto& [id, kind] : kScalarKinds) {
        if (id == type.id()) {
            out.kind = kind;
            return true;
        }
    }
    return false;
}

std::shared_ptr<arrow::DataType> toArrowType(const expr::DataType& type) {
    std::shared_ptr<arrow::DataType> element = scalarArrowType(type.kind);
    if (!type.isList || element == nullptr) {
        return element;
    }
    const auto field = arrow::field("element", std::move(element));
    return type.listSize > 0 ? arrow::fixed_size_list(field, type.listSize) : arrow::list(field);
}

Result<std::shared_ptr<arrow::Array>> pinArray(const arrow::ChunkedArray& values,
                                               const expr::DataType& type, std::string_view place,
                                               arrow::MemoryPool* pool) {
    std::shared_ptr<arrow::Array> array;
    if (values.num_chunks() == 1) {
        array = values.chunk(0);
    } else if (values.num_chunks() == 0) {
        return nullArray(type, 0, pool);
    } else {
        ASSIGN_OR_RETURN(array, fromArrow(arrow::Concatenate(values.chunks(), pool), place));
    }
    if (array->type_id() == Type::RUN_END_ENCODED) {
        RETURN_IF_ERROR(needKernels());
        arrow::compute::ExecContext context(pool);
        ASSIGN_OR_RETURN(const arrow::Datum values,
                         fromArrow(arrow::compute::RunEndDecode(array, &context), place));
        array = values.make_array();
    }
    while (array->type_id() == Type::EXTENSION) {
        array = static_cast<const arrow::ExtensionArray&>(*array).storage();
    }
    if (isListView(*array->type())) {
        ASSIGN_OR_RETURN(array, listsOfView(*array, place, pool));
    }
    while (const std::shared_ptr<arrow::DataType> step = between(*array->type())) {
        ASSIGN_OR_RETURN(array, castPinned(array, step, place, pool));
    }
    ASSIGN_OR_RETURN(array, leavesExactly(array, type, place, pool));
    std::shared_ptr<arrow::DataType> pinned = toArrowType(type);
    pinned = pinned == nullptr ? decimal128Of(*array->type()) : pinned;
    if (pinned == nullptr || array->type()->Equals(*pinned)) {
        return array;
    }
    if (array->type_id() == Type::LIST && pinned->id() == Type::LIST &&
        static_cast<const arrow::ListType&>(*array->type())
            .value_type()
            ->Equals(*static_cast<const arrow::ListType&>(*pinned).value_type())) {
        return array;  // only the element field's name or nullability differs
    }
    return castPinned(array, pinned, place, pool);
}

Result<std::shared_ptr<arrow::Array>> nullArray(const expr::DataType& type, std::int64_t rows,
                                                arrow::MemoryPool* pool) {
    std::shared_ptr<arrow::DataType> pinned = toArrowType(type);
    if (pinned == nullptr) {
        pinned = arrow::decimal128(38, 9);
    }
    return fromArrow(arrow::MakeArrayOfNull(pinned, rows, pool), "null column");
}

}  // namespace millrace::arrays
