#include "backend/arrays/decimals.h"

#include <array>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include <arrow/array/array_decimal.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_decimal.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/data.h>
#include <arrow/type.h>
#include <arrow/util/decimal.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::arrays {
namespace {

using arrow::Type;
using ArrayPtr = std::shared_ptr<arrow::Array>;

/// Powers of ten that doubles hold exactly.
constexpr std::array<double, 23> kTens = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                          1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                          1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr std::int64_t kExactMax = std::int64_t{1} << 53;

/// Whether both operands are exact doubles, so that a single division rounds once (Clinger 1990).
bool isExactDivision(std::int64_t unscaled, int scale) {
    return unscaled >= -kExactMax && unscaled <= kExactMax && scale >= 0 &&
           scale < static_cast<int>(kTens.size());
}

double divided(std::int64_t unscaled, int scale) {
    return static_cast<double>(unscaled) / kTens[static_cast<std::size_t>(scale)];
}

/// from_chars rounds correctly for any number of digits.
double parsed(std::string digits, int scale) {
    strAppend(&digits, "e", -scale);
    double value = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

/// The number without redundant zeros: "-0.57" for "-570" and 3.
std::string plainText(std::string_view digits, int scale) {
    const bool isNegative = digits.starts_with('-');
    std::string text(digits.substr(isNegative ? 1 : 0));
    if (scale < 0 && text != "0") {
        text.append(static_cast<std::size_t>(-scale), '0');
    }
    if (scale > 0) {
        const auto behind = static_cast<std::size_t>(scale);
        text.insert(0, text.size() > behind ? 0 : behind + 1 - text.size(), '0');
        text.insert(text.size() - behind, ".");
        text.erase(text.find_last_not_of('0') + 1);
        text.erase(text.find_last_not_of('.') + 1);
    }
    return isNegative ? "-" + text : text;
}

bool isShort(const arrow::Decimal128& value) {
    return value.high_bits() == (static_cast<std::int64_t>(value.low_bits()) < 0 ? -1 : 0);
}

/// `unscaledAt(row)`: for a row that is not null.
template <class UnscaledAt>
Result<ArrayPtr> doublesOf(const arrow::Array& array, arrow::MemoryPool* pool,
                           UnscaledAt unscaledAt) {
    const int scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
    arrow::DoubleBuilder builder(pool);
    RETURN_IF_ERROR(fromArrow(builder.Reserve(array.length()), "decimals"));
    for (std::int64_t row = 0; row < array.length(); ++row) {
        if (array.IsNull(row)) {
            builder.UnsafeAppendNull();
        } else {
            builder.UnsafeAppend(nearestDouble(unscaledAt(row), scale));
        }
    }
    return fromArrow(builder.Finish(), "decimals");
}

template <class ArrayType, class Value>
Result<ArrayPtr> wideDoublesOf(const arrow::Array& array, arrow::MemoryPool* pool) {
    const auto& decimals = static_cast<const ArrayType&>(array);
    return doublesOf(array, pool, [&](std::int64_t row) { return Value(decimals.GetValue(row)); });
}

/// Decimals of 32 and 64 bits: their values are plain integers.
template <class Integer>
Result<ArrayPtr> narrowDoublesOf(const arrow::Array& array, arrow::MemoryPool* pool) {
    const auto* values = array.data()->GetValues<Integer>(1);
    return doublesOf(array, pool, [values](std::int64_t row) {
        return arrow::Decimal128(std::int64_t{values[row]});
    });
}

}  // namespace

double nearestDouble(const arrow::Decimal128& unscaled, int scale) {
    if (isShort(unscaled)) {
        const auto value = static_cast<std::int64_t>(unscaled.low_bits());
        if (isExactDivision(value, scale)) {
            return divided(value, scale);
        }
    }
    return parsed(unscaled.ToIntegerString(), scale);
}

double nearestDouble(const arrow::Decimal256& unscaled, int scale) {
    return parsed(unscaled.ToIntegerString(), scale);
}

Result<ArrayPtr> decimalsAsDoubles(const arrow::Array& decimals, arrow::MemoryPool* pool) {
    switch (decimals.type_id()) {
        case Type::DECIMAL32:
            return narrowDoublesOf<std::int32_t>(decimals, pool);
        case Type::DECIMAL64:
            return narrowDoublesOf<std::int64_t>(decimals, pool);
        case Type::DECIMAL128:
            return wideDoublesOf<arrow::Decimal128Array, arrow::Decimal128>(decimals, pool);
        case Type::DECIMAL256:
            return wideDoublesOf<arrow::Decimal256Array, arrow::Decimal256>(decimals, pool);
        default:
            break;
    }
    return internalError("no decimals in a ", decimals.type()->ToString());
}

Result<ArrayPtr> roundedDecimals(const ArrayPtr& array, arrow::MemoryPool* pool) {
    const auto& decimals = static_cast<const arrow::Decimal128Array&>(*array);
    const int scale = static_cast<const arrow::DecimalType&>(*array->type()).scale();
    arrow::Decimal128Builder builder(arrow::decimal128(38, 0), pool);
    RETURN_IF_ERROR(fromArrow(builder.Reserve(array->length()), "decimals"));
    for (std::int64_t row = 0; row < array->length(); ++row) {
        if (array->IsNull(row)) {
            builder.UnsafeAppendNull();
            continue;
        }
        const arrow::Decimal128 value(decimals.GetValue(row));
        if (scale >= 0) {
            builder.UnsafeAppend(arrow::Decimal128(value.ReduceScaleBy(scale, /*round=*/true)));
            continue;
        }
        ASSIGN_OR_RETURN(const arrow::Decimal128 whole,
                         fromArrow(value.Rescale(scale, 0), "decimals"));
        builder.UnsafeAppend(whole);
    }
    return fromArrow(builder.Finish(), "decimals");
}

Result<ArrayPtr> decimalKeys(const arrow::Array& array, arrow::MemoryPool* pool) {
    const auto& decimals = static_cast<const arrow::Decimal128Array&>(array);
    const int scale = static_cast<const arrow::DecimalType&>(*array.type()).scale();
    arrow::StringBuilder builder(pool);
    for (std::int64_t row = 0; row < array.length(); ++row) {
        if (array.IsNull(row)) {
            RETURN_IF_ERROR(fromArrow(builder.AppendNull(), "decimals"));
            continue;
        }
        const std::string digits = arrow::Decimal128(decimals.GetValue(row)).ToIntegerString();
        RETURN_IF_ERROR(fromArrow(builder.Append(plainText(digits, scale)), "decimals"));
    }
    return fromArrow(builder.Finish(), "decimals");
}

}  // namespace millrace::arrays
