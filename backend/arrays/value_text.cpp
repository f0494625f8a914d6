#include "backend/arrays/value_text.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_decimal.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/scalar.h>
#include <arrow/type.h>

#include "backend/arrays/integer_at.h"
#include "backend/text/utf8.h"

namespace millrace::arrays {
namespace {

using arrow::Type;

template <class Number>
std::string numberText(Number value) {
    char text[64];
    const auto end = std::to_chars(text, text + sizeof text, value);
    return {text, end.ptr};
}

std::string realText(auto value) {
    if (std::isnan(value)) {
        return "NaN";
    }
    if (std::isinf(value)) {
        return value > 0 ? "Infinity" : "-Infinity";
    }
    return numberText(value);
}

struct CivilDay {
    std::int64_t year;
    unsigned month, day;
};

/// Days since 1970 in the proleptic Gregorian calendar (Howard Hinnant's civil_from_days).
CivilDay civilDay(std::int64_t days) {
    const std::int64_t z = days + 719468;
    const std::int64_t era = (z >= 0 ? z : z - 146096) / 146097;
    const auto dayOfEra = static_cast<unsigned>(z - era * 146097);
    const unsigned year = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146096) / 365;
    const unsigned dayOfYear = dayOfEra - (365 * year + year / 4 - year / 100);
    const unsigned shifted = (5 * dayOfYear + 2) / 153;
    const unsigned month = shifted < 10 ? shifted + 3 : shifted - 9;
    return {static_cast<std::int64_t>(year) + era * 400 + (month <= 2 ? 1 : 0), month,
            dayOfYear - (153 * shifted + 2) / 5 + 1};
}

std::string dateText(std::int64_t days) {
    const CivilDay day = civilDay(days);
    char text[48];
    std::snprintf(text, sizeof text, "%04lld-%02u-%02u", static_cast<long long>(day.year),
                  day.month, day.day);
    return text;
}

std::string timeText(std::int64_t micros) {
    constexpr std::int64_t kDay = 86'400'000'000;
    const std::int64_t days = micros / kDay - (micros % kDay < 0 ? 1 : 0);
    const std::int64_t rest = micros - days * kDay;
    const std::int64_t seconds = rest / 1'000'000;
    char text[48];
    std::snprintf(text, sizeof text, " %02d:%02d:%02d", static_cast<int>(seconds / 3600),
                  static_cast<int>(seconds / 60 % 60), static_cast<int>(seconds % 60));
    std::string out = dateText(days) + text;
    if (rest % 1'000'000 != 0) {
        std::snprintf(text, sizeof text, ".%06d", static_cast<int>(rest % 1'000'000));
        out += text;
        out.erase(out.find_last_not_of('0') + 1);
    }
    return out;
}

template <class ArrayType>
auto at(const arrow::Array& values, std::int64_t row) {
    return static_cast<const ArrayType&>(values).Value(row);
}

std::string elementText(const arrow::Array& values, std::int64_t row, std::size_t bytesMax) {
    if (values.IsNull(row)) {
        return "null";
    }
    const std::string text = valueText(values, row, bytesMax);
    return values.type_id() == Type::STRING ? "\"" + text + "\"" : text;
}

std::string listText(const arrow::Array& values, std::int64_t begin, std::int64_t end,
                     std::size_t bytesMax) {
    std::string out = "[";
    for (std::int64_t i = begin; i < end; ++i) {
        const std::string element = elementText(values, i, bytesMax);
        if (out.size() + element.size() + 3 > bytesMax) {
            return out + (i > begin ? ", …]" : "…]");
        }
        out += (i > begin ? ", " : "") + element;
    }
    return out + "]";
}

}  // namespace

std::string shownText(std::string_view text, std::size_t bytesMax) {
    constexpr std::size_t kCharacterBytes = 4;  // longest character: adds one more, if there is one
    std::string shown = toUtf8(text, bytesMax + kCharacterBytes);
    return shown.size() <= bytesMax ? shown : toUtf8(shown, bytesMax) + "…";
}

std::string valueText(const arrow::Array& values, std::int64_t row, std::size_t bytesMax) {
    switch (values.type_id()) {
        case Type::BOOL:
            return at<arrow::BooleanArray>(values, row) ? "true" : "false";
        case Type::FLOAT:
            return realText(at<arrow::FloatArray>(values, row));
        case Type::DOUBLE:
            return realText(at<arrow::DoubleArray>(values, row));
        case Type::DECIMAL128:
            return static_cast<const arrow::Decimal128Array&>(values).FormatValue(row);
        case Type::STRING:
            return shownText(static_cast<const arrow::StringArray&>(values).GetView(row), bytesMax);
        case Type::DATE32:
            return dateText(at<arrow::Date32Array>(values, row));
        case Type::TIMESTAMP:
            return timeText(at<arrow::TimestampArray>(values, row));
        case Type::LIST: {
            const auto& list = static_cast<const arrow::ListArray&>(values);
            return listText(*list.values(), list.value_offset(row), list.value_offset(row + 1),
                            bytesMax);
        }
        case Type::FIXED_SIZE_LIST: {
            const auto& list = static_cast<const arrow::FixedSizeListArray&>(values);
            return listText(*list.values(), list.value_offset(row), list.value_offset(row + 1),
                            bytesMax);
        }
        default:
            break;
    }
    std::string text;
    // +value: prints one-byte integers as numbers, not as characters.
    if (takeIntegerAt(values, row, [&text](auto value) { text = numberText(+value); })) {
        return text;
    }
    const auto scalar = values.GetScalar(row);
    return scalar.ok() ? shownText((*scalar)->ToString(), bytesMax) : "";
}

}  // namespace millrace::arrays
