#include "backend/arrays/same_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <string>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/chunked_array.h>
#include <arrow/type.h>

#include "backend/arrays/arrow_bridge.h"

namespace millrace::arrays {
namespace {

/// The values of an array of floats or doubles, as doubles; nothing of others.
std::optional<double> floatAt(const arrow::Array& numbers, std::int64_t row) {
    if (numbers.type_id() == arrow::Type::DOUBLE) {
        return static_cast<const arrow::DoubleArray&>(numbers).Value(row);
    }
    if (numbers.type_id() == arrow::Type::FLOAT) {
        return static_cast<const arrow::FloatArray&>(numbers).Value(row);
    }
    return std::nullopt;
}

/// A number's text without blanks, sign and leading zeros.
std::string_view magnitudeOf(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n+-");
    if (begin == std::string_view::npos) {
        return {};
    }
    text = text.substr(begin, text.find_last_not_of(" \t\r\n") + 1 - begin);
    const bool isHex = text.size() > 1 && text[0] == '0' && (text[1] | 0x20) == 'x';
    return isHex ? text : text.substr(std::min(text.find_first_not_of('0'), text.size()));
}

/// The digits of a whole number, also of one written 5.0; "" of others.
std::string_view wholeDigits(std::string_view magnitude) {
    const std::size_t end = magnitude.find_first_not_of("0123456789");
    if (end == std::string_view::npos) {
        return magnitude;
    }
    const bool isWhole = magnitude[end] == '.' &&
                         magnitude.find_first_not_of('0', end + 1) == std::string_view::npos;
    return isWhole ? magnitude.substr(0, end) : std::string_view();
}

/// Why the number is not the text; "": it is.
std::string whyNotSame(std::string_view text, std::optional<double> number, bool isDouble) {
    const std::string_view magnitude = magnitudeOf(text);
    if (magnitude.size() > 1 && (magnitude[1] | 0x20) == 'x') {
        return "is hexadecimal; numbers are read in decimal alone";
    }
    const bool isFinite = !magnitude.empty() && (magnitude[0] | 0x20) != 'i';
    if (number && std::isinf(*number) && isFinite) {
        return "is beyond the type's range";
    }
    const std::string_view digits = wholeDigits(magnitude);
    if (!number || !std::isfinite(*number) || digits.empty()) {
        return "";
    }
    char buffer[400];  // the largest double has 309 digits
    std::snprintf(buffer, sizeof buffer, "%.0f", std::abs(*number));
    return digits == buffer ? ""
                            : strCat("is a whole number that ", isDouble ? "double" : "float",
                                     " does not hold: beyond ", isDouble ? "2^53" : "2^24",
                                     " it has no room for the last digits");
}

}  // namespace

Status checkSameNumbers(const arrow::ChunkedArray& stored, const arrow::Array& numbers,
                        std::string_view place, arrow::MemoryPool* pool) {
    const bool isNarrowed =
        numbers.type_id() == arrow::Type::FLOAT && stored.type()->id() == arrow::Type::DOUBLE;
    expr::DataType own;
    const bool isText =
        toSpecType(*stored.type(), own) && own.isString() && arrow::is_numeric(numbers.type_id());
    if (!isNarrowed && !isText) {
        return okStatus();
    }
    const expr::DataType type{isText ? expr::TypeKind::kString : expr::TypeKind::kDouble};
    ASSIGN_OR_RETURN(const auto values, pinArray(stored, type, place, pool));
    for (std::int64_t row = 0; row < values->length(); ++row) {
        if (values->IsNull(row) || numbers.IsNull(row)) {
            continue;
        }
        const std::optional<double> number = floatAt(numbers, row);
        if (isNarrowed) {
            const double was = static_cast<const arrow::DoubleArray&>(*values).Value(row);
            if (std::isinf(*number) && std::isfinite(was)) {
                return invalidArgument(place, ", row ", row, ": ", was,
                                       " is beyond the range of float");
            }
            continue;
        }
        const auto text = static_cast<const arrow::StringArray&>(*values).GetView(row);
        const std::string why = whyNotSame(text, number, numbers.type_id() == arrow::Type::DOUBLE);
        if (!why.empty()) {
            return invalidArgument(place, ", row ", row, ": '", text, "' ", why);
        }
    }
    return okStatus();
}

}  // namespace millrace::arrays
