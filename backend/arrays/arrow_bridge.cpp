#include "backend/arrays/arrow_bridge.h"

#include <arrow/array/array_base.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/concatenate.h>
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
#include "backend/arrays/leaf_values.h"

namespace millrace::arrays {
namespace {

using arrow::Type;

bool scalarKind(Type::type id, expr::TypeKind& kind) {
    using K = expr::TypeKind;
    switch (id) {
        case Type::NA:
            kind = K::kNull;
            return true;
        case Type::BOOL:
            kind = K::kBool;
            return true;
        case Type::INT8:
            kind = K::kInt8;
            return true;
        case Type::INT16:
            kind = K::kInt16;
            return true;
        case Type::INT32:
            kind = K::kInt32;
            return true;
        case Type::INT64:
            kind = K::kInt64;
            return true;
        case Type::UINT8:
            kind = K::kUint8;
            return true;
        case Type::UINT16:
            kind = K::kUint16;
            return true;
        case Type::UINT32:
            kind = K::kUint32;
            return true;
        case Type::UINT64:
            kind = K::kUint64;
            return true;
        case Type::HALF_FLOAT:
        case Type::FLOAT:
            kind = K::kFloat;
            return true;
        case Type::DOUBLE:
            kind = K::kDouble;
            return true;
        case Type::DECIMAL32:
        case Type::DECIMAL64:
        case Type::DECIMAL128:
            kind = K::kDecimal;
            return true;
        case Type::TIME32:
        case Type::TIME64:
            kind = K::kInt64;
            return true;
        case Type::STRING:
        case Type::LARGE_STRING:
        case Type::STRING_VIEW:
        case Type::BINARY:
        case Type::LARGE_BINARY:
        case Type::BINARY_VIEW:
        case Type::FIXED_SIZE_BINARY:
            kind = K::kString;
            return true;
        case Type::DATE32:
        case Type::DATE64:
            kind = K::kDate;
            return true;
        case Type::TIMESTAMP:
            kind = K::kTimestamp;
            return true;
        default:
            return false;
    }
}

std::shared_ptr<arrow::DataType> scalarArrowType(expr::TypeKind kind) {
    using K = expr::TypeKind;
    switch (kind) {
        case K::kNull:
            return arrow::null();
        case K::kBool:
            return arrow::boolean();
        case K::kInt8:
            return arrow::int8();
        case K::kInt16:
            return arrow::int16();
        case K::kInt32:
            return arrow::int32();
        case K::kInt64:
            return arrow::int64();
        case K::kUint8:
            return arrow::uint8();
        case K::kUint16:
            return arrow::uint16();
        case K::kUint32:
            return arrow::uint32();
        case K::kUint64:
            return arrow::uint64();
        case K::kFloat:
            return arrow::float32();
        case K::kDouble:
            return arrow::float64();
        case K::kDecimal:
            return nullptr;
        case K::kString:
            return arrow::utf8();
        case K::kDate:
            return arrow::date32();
        case K::kTimestamp:
            return arrow::timestamp(arrow::TimeUnit::MICRO);
    }
    return nullptr;
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
            return scalarKind(type.id(), out.kind);
    }
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
