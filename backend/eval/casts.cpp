// cast and try_cast as in DuckDB: floats round to the nearest even whole number, text is trimmed,
// and a value that does not fit is an error (cast) or null (try_cast).
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <utility>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_decimal.h>
#include <arrow/array/array_nested.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/array/data.h>
#include <arrow/array/util.h>
#include <arrow/compute/cast.h>
#include <arrow/compute/exec.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>
#include <arrow/util/bitmap_ops.h>
#include <arrow/util/decimal.h>
#include <arrow/util/value_parsing.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/arrays/decimals.h"
#include "backend/arrays/null_rows.h"
#include "backend/eval/civil_days.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/number_casts.h"

namespace millrace::eval {
namespace {

using arrow::Type;

template <class T>
struct Tag {
    using Arrow = T;
};

template <class F>
Result<ArrayPtr> withNumeric(Type::type id, F f) {
    switch (id) {
        case Type::BOOL:
            return f(Tag<arrow::BooleanType>());
        case Type::INT8:
            return f(Tag<arrow::Int8Type>());
        case Type::INT16:
            return f(Tag<arrow::Int16Type>());
        case Type::INT32:
            return f(Tag<arrow::Int32Type>());
        case Type::INT64:
            return f(Tag<arrow::Int64Type>());
        case Type::UINT8:
            return f(Tag<arrow::UInt8Type>());
        case Type::UINT16:
            return f(Tag<arrow::UInt16Type>());
        case Type::UINT32:
            return f(Tag<arrow::UInt32Type>());
        case Type::UINT64:
            return f(Tag<arrow::UInt64Type>());
        case Type::FLOAT:
            return f(Tag<arrow::FloatType>());
        case Type::DOUBLE:
            return f(Tag<arrow::DoubleType>());
        default:
            return invalidArgument("no such cast");
    }
}

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front())) != 0) {
        text.remove_prefix(1);
    }
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
        text.remove_suffix(1);
    }
    return text;
}

template <class T>
bool parseWhole(std::string_view text, T& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

/// Values outside the range of doubles become infinite, or 0.
bool parseReal(std::string_view text, double& out) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (error == std::errc::result_out_of_range) {
        out = std::strtod(std::string(text).c_str(), nullptr);
    }
    return error != std::errc::invalid_argument && end == text.data() + text.size();
}

/// The digits of "12.5e3", and how many of them (and of zeros appended to them) precede the point.
struct DecimalText {
    std::string digits;
    std::int64_t numWhole = 0;
};

/// Accepts what from_chars accepts for doubles, except a sign, "inf" and "nan". Returns false for
/// other texts.
bool parseDecimal(std::string_view text, DecimalText& out) {
    constexpr std::int64_t kFar = 1'000'000'000;  // limit of an exponent: beyond it a number is out
                                                  // of range or 0
    const auto takeDigits = [&text](auto take) {
        while (!text.empty() && text.front() >= '0' && text.front() <= '9') {
            take(text.front());
            text.remove_prefix(1);
        }
    };
    takeDigits([&](char c) { out.digits += c; });
    out.numWhole = std::ssize(out.digits);
    if (text.starts_with('.')) {
        text.remove_prefix(1);
        takeDigits([&](char c) { out.digits += c; });
    }
    if (text.starts_with('e') || text.starts_with('E')) {
        text.remove_prefix(1);
        const bool isNegative = text.starts_with('-');
        text.remove_prefix(isNegative || text.starts_with('+') ? 1 : 0);
        std::int64_t exponent = text.empty() ? -1 : 0;
        takeDigits([&](char c) { exponent = std::min(kFar, 10 * exponent + (c - '0')); });
        if (exponent < 0) {
            return false;
        }
        out.numWhole += isNegative ? -exponent : exponent;
    }
    return text.empty() && !out.digits.empty();
}

/// Rounds a decimal number to a whole one, halves away from zero. Works on its digits, as a double
/// holds no more than 15 of them. Returns false for other texts and for values beyond To.
template <class To>
bool parseRounded(std::string_view text, To& out) {
    const bool isNegative = text.starts_with('-');
    text.remove_prefix(isNegative ? 1 : 0);
    DecimalText number;
    if (!parseDecimal(text, number)) {
        return false;
    }
    const std::uint64_t above = static_cast<std::uint64_t>(std::numeric_limits<To>::max());
    const std::uint64_t below = std::is_signed_v<To> ? above + 1 : 0;
    const std::uint64_t limit = isNegative ? below : above;
    const std::int64_t numDigits = std::ssize(number.digits);
    const auto digit = [&](std::int64_t at) -> std::uint64_t {
        return at >= 0 && at < numDigits
                   ? static_cast<std::uint64_t>(number.digits[static_cast<std::size_t>(at)] - '0')
                   : 0;
    };
    std::uint64_t value = 0;
    for (std::int64_t i = 0; i < number.numWhole && (i < numDigits || value > 0); ++i) {
        if (value > (limit - std::min(limit, digit(i))) / 10 || digit(i) > limit) {
            return false;
        }
        value = 10 * value + digit(i);
    }
    if (digit(number.numWhole) >= 5 && value++ >= limit) {
        return false;
    }
    out = static_cast<To>(isNegative ? 0 - value : value);
    return true;
}

bool parseBool(std::string_view text, bool& out) {
    std::string lower(text.substr(0, 6));
    for (char& c : lower) {
        c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    out = lower == "true" || lower == "t" || lower == "1" || lower == "yes" || lower == "y";
    return out || lower == "false" || lower == "f" || lower == "0" || lower == "no" || lower == "n";
}

/// Converts text to a number: "12", " +3 ", "4.5" (a whole type rounds it, halves away from zero),
/// "1e3".
template <class To>
bool parseText(std::string_view text, To& out) {
    text = trimmed(text);
    if constexpr (std::is_same_v<To, bool>) {
        return parseBool(text, out);
    } else {
        if (text.starts_with('+') && !text.starts_with("+-")) {
            text.remove_prefix(1);
        }
        if constexpr (std::is_integral_v<To>) {
            return parseWhole(text, out) || parseRounded(text, out);
        } else {
            double value = 0;
            return parseReal(text, value) && convertNumber(value, out);
        }
    }
}

std::string shown(const arrow::Array& values, std::int64_t row) {
    const auto scalar = values.GetScalar(row);
    return scalar.ok() ? "'" + (*scalar)->ToString().substr(0, 60) + "'" : "a value";
}

/// Makes one output per row with `make(i, out) -> fits`.
template <class ArrowTo, class Builder, class Make>
Result<ArrayPtr> castLoop(const arrow::Array& values, Builder& builder, const expr::DataType& to,
                          bool isTry, Make make) {
    if (!builder.Reserve(values.length()).ok()) {
        return resourceExhausted("no memory for ", values.length(), " values");
    }
    for (std::int64_t i = 0; i < values.length(); ++i) {
        typename arrow::TypeTraits<ArrowTo>::CType out{};
        if (values.IsNull(i)) {
            builder.UnsafeAppendNull();
        } else if (make(i, out)) {
            builder.UnsafeAppend(out);
        } else if (isTry) {
            builder.UnsafeAppendNull();
        } else {
            return invalidArgument("cannot cast ", shown(values, i), " to ", to.name());
        }
    }
    ArrayPtr array;
    if (!builder.Finish(&array).ok()) {
        return resourceExhausted("no memory");
    }
    return array;
}

/// Casts all values at once, with zeros under nulls; returns null if any value, even under a null,
/// does not fit.
template <class From, class To>
Result<ArrayPtr> castAll(const arrow::Array& values, const std::shared_ptr<arrow::DataType>& to) {
    const std::int64_t n = values.length();
    arrow::MemoryPool* const pool = evaluationPool();
    ASSIGN_OR_RETURN(
        const std::shared_ptr<arrow::Buffer> made,
        arrays::fromArrow<std::shared_ptr<arrow::Buffer>>(
            arrow::AllocateBuffer(n * static_cast<std::int64_t>(sizeof(To)), pool), "cast"));
    const From* const in = values.data()->GetValues<From>(1);
    To* const out = reinterpret_cast<To*>(made->mutable_data());
    bool fits = true;
    for (std::int64_t i = 0; i < n; ++i) {
        fits &= convertNumber(in[i], out[i]);
    }
    std::shared_ptr<arrow::Buffer> validity;
    if (!fits) {
        return ArrayPtr();
    }
    if (values.null_count() > 0) {
        ASSIGN_OR_RETURN(
            validity, arrays::fromArrow(arrow::internal::CopyBitmap(pool, values.null_bitmap_data(),
                                                                    values.offset(), n),
                                        "cast"));
        arrays::fillNulls(values, To{0}, out);
    }
    return arrow::MakeArray(arrow::ArrayData::Make(to, n, {std::move(validity), made}));
}

template <class ArrowTo>
Result<ArrayPtr> castNumbers(const arrow::Array& values, const expr::DataType& to, bool isTry) {
    return withNumeric(values.type_id(), [&](auto tag) -> Result<ArrayPtr> {
        using From = typename decltype(tag)::Arrow;
        using In = typename arrow::TypeTraits<From>::CType;
        using Out = typename arrow::TypeTraits<ArrowTo>::CType;
        if constexpr (!std::is_same_v<In, bool> && !std::is_same_v<Out, bool>) {
            ASSIGN_OR_RETURN(ArrayPtr all, (castAll<In, Out>(values, arrays::toArrowType(to))));
            if (all != nullptr) {
                return all;
            }
        }
        const auto& in = static_cast<const typename arrow::TypeTraits<From>::ArrayType&>(values);
        typename arrow::TypeTraits<ArrowTo>::BuilderType builder(evaluationPool());
        return castLoop<ArrowTo>(values, builder, to, isTry, [&](std::int64_t i, auto& out) {
            return convertNumber(in.Value(i), out);
        });
    });
}

/// Parses a date, or the date of a time; nothing else may follow the day.
bool parseDate(std::string_view text, std::int32_t& out) {
    constexpr std::size_t kDateChars = 10;
    std::int64_t ignored = 0;
    const std::string_view date = text.substr(0, kDateChars);
    const bool isTime = text.size() > kDateChars;
    return arrow::internal::ParseValue(arrow::Date32Type(), date.data(), date.size(), &out) &&
           (!isTime || arrow::internal::ParseTimestampISO8601(text.data(), text.size(),
                                                              arrow::TimeUnit::MICRO, &ignored));
}

Result<ArrayPtr> castText(const ArrayPtr& values, const expr::DataType& to, bool isTry) {
    const auto& in = static_cast<const arrow::StringArray&>(*values);
    if (to.kind == expr::TypeKind::kDate) {
        arrow::Date32Builder builder(evaluationPool());
        return castLoop<arrow::Date32Type>(
            *values, builder, to, isTry,
            [&](std::int64_t i, auto& out) { return parseDate(trimmed(in.GetView(i)), out); });
    }
    if (to.kind == expr::TypeKind::kTimestamp) {
        arrow::TimestampBuilder builder(arrow::timestamp(arrow::TimeUnit::MICRO), evaluationPool());
        return castLoop<arrow::TimestampType>(
            *values, builder, to, isTry, [&](std::int64_t i, auto& out) {
                const std::string_view text = trimmed(in.GetView(i));
                return arrow::internal::ParseTimestampISO8601(text.data(), text.size(),
                                                              arrow::TimeUnit::MICRO, &out);
            });
    }
    return withNumeric(arrays::toArrowType(to)->id(), [&](auto tag) {
        using To = typename decltype(tag)::Arrow;
        typename arrow::TypeTraits<To>::BuilderType builder(evaluationPool());
        return castLoop<To>(*values, builder, to, isTry, [&](std::int64_t i, auto& out) {
            return parseText(in.GetView(i), out);
        });
    });
}

Result<ArrayPtr> castByArrow(const ArrayPtr& values, const expr::DataType& to) {
    arrow::compute::ExecContext context(evaluationPool());
    context.set_use_threads(false);
    arrow::compute::CastOptions options =
        arrow::compute::CastOptions::Safe(arrays::toArrowType(to));
    options.allow_time_truncate = true;
    options.allow_decimal_truncate = true;
    ASSIGN_OR_RETURN(const Datum out,
                     arrays::fromArrow(arrow::compute::Cast(values, options, &context),
                                       strCat("cast to ", to.name())));
    return out.make_array();
}

/// Writes "2024-01-31" for any year; Arrow's texts are invalid for years beyond 32767.
Result<ArrayPtr> datesAsTexts(const ArrayPtr& values) {
    constexpr std::int32_t kLast = 106'751'991;  // as for civilOfDays()
    const auto& days = static_cast<const arrow::Date32Array&>(*values);
    arrow::StringBuilder builder(evaluationPool());
    for (std::int64_t i = 0; i < days.length(); ++i) {
        char text[24] = "infinity";
        const std::int32_t day = days.IsValid(i) ? days.Value(i) : 0;
        if (day > kLast || day < -kLast) {
            std::snprintf(text, sizeof text, "%sinfinity", day < 0 ? "-" : "");
        } else {
            const CivilDay civil = civilOfDays(day);
            std::snprintf(text, sizeof text, "%s%04d-%02d-%02d", civil.year < 0 ? "-" : "",
                          std::abs(civil.year), civil.month, civil.day);
        }
        const arrow::Status status = days.IsValid(i) ? builder.Append(text) : builder.AppendNull();
        RETURN_IF_ERROR(arrays::fromArrow(status, "cast to varchar"));
    }
    ArrayPtr array;
    return builder.Finish(&array).ok() ? Result<ArrayPtr>(array) : resourceExhausted("no memory");
}

bool hasFarDates(const arrow::Array& values) {
    constexpr std::int32_t kFar = 11'000'000;  // days: within it Arrow writes years correctly
    const auto& days = static_cast<const arrow::Date32Array&>(values);
    for (std::int64_t i = 0; i < days.length(); ++i) {
        if (days.IsValid(i) && (days.Value(i) > kFar || days.Value(i) < -kFar)) {
            return true;
        }
    }
    return false;
}

bool isNumeric(const expr::DataType& type) {
    return type.isInteger() || type.isFloat() || type.isBool();
}

Result<ArrayPtr> castList(const ArrayPtr& values, const expr::DataType& from,
                          const expr::DataType& to, bool isTry) {
    if (from.listSize > 0 || to.listSize > 0) {
        return castByArrow(values, to);
    }
    const auto& list = static_cast<const arrow::ListArray&>(*values);
    ASSIGN_OR_RETURN(const ArrayPtr elements,
                     castValues(list.values(), from.element(), to.element(), isTry));
    return ArrayPtr(std::make_shared<arrow::ListArray>(
        arrow::list(elements->type()), list.length(), list.value_offsets(), elements,
        list.null_bitmap(), list.null_count(), list.offset()));
}

/// Casts to integers by the digits, as a double holds no more than 15 of them; else via a double.
Result<ArrayPtr> castDecimals(const ArrayPtr& values, const expr::DataType& to, bool isTry) {
    arrow::MemoryPool* const pool = evaluationPool();
    if (!to.isInteger()) {
        ASSIGN_OR_RETURN(const ArrayPtr doubles, arrays::decimalsAsDoubles(*values, pool));
        return castValues(doubles, {expr::TypeKind::kDouble}, to, isTry);
    }
    ASSIGN_OR_RETURN(const ArrayPtr rounded, arrays::roundedDecimals(values, pool));
    const auto& whole = static_cast<const arrow::Decimal128Array&>(*rounded);
    return withNumeric(arrays::toArrowType(to)->id(), [&](auto tag) -> Result<ArrayPtr> {
        using To = typename decltype(tag)::Arrow;
        typename arrow::TypeTraits<To>::BuilderType builder(evaluationPool());
        return castLoop<To>(*values, builder, to, isTry, [&](std::int64_t i, auto& out) {
            using Out = std::remove_reference_t<decltype(out)>;
            if constexpr (std::is_integral_v<Out> && !std::is_same_v<Out, bool>) {
                const arrow::Decimal128 value(whole.GetValue(i));
                out = static_cast<Out>(value.low_bits());
                return arrow::Decimal128(out) == value;
            } else {
                return false;
            }
        });
    });
}

}  // namespace

Result<ArrayPtr> castValues(const ArrayPtr& values, const expr::DataType& from,
                            const expr::DataType& to, bool isTry) {
    if (from.isSame(to)) {
        return values;
    }
    if (from.isNull()) {
        return arrays::nullArray(to, values->length(), evaluationPool());
    }
    if (from.isList) {
        return castList(values, from, to, isTry);
    }
    if (from.isString()) {
        return castText(values, to, isTry);
    }
    if (isNumeric(from) && isNumeric(to)) {
        return withNumeric(arrays::toArrowType(to)->id(), [&](auto tag) {
            return castNumbers<typename decltype(tag)::Arrow>(*values, to, isTry);
        });
    }
    if (from.kind == expr::TypeKind::kDecimal && !to.isString()) {
        return castDecimals(values, to, isTry);
    }
    const bool isDateText = from.kind == expr::TypeKind::kDate && to.isString();
    return isDateText && hasFarDates(*values) ? datesAsTexts(values) : castByArrow(values, to);
}

}  // namespace millrace::eval
