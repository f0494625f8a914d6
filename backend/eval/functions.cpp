// Function calls over evaluated arguments: by Arrow's kernels if they mean the same as DuckDB's
// functions, else by own loops.
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include <arrow/array/array_binary.h>
#include <arrow/array/array_primitive.h>
#include <arrow/array/builder_binary.h>
#include <arrow/array/builder_nested.h>
#include <arrow/array/builder_primitive.h>
#include <arrow/compute/api_scalar.h>
#include <arrow/compute/cast.h>
#include <arrow/scalar.h>
#include <arrow/type.h>
#include <arrow/type_traits.h>

#include "backend/arrays/arrow_bridge.h"
#include "backend/core/philox.h"
#include "backend/eval/evaluation_pool.h"
#include "backend/eval/evaluator.h"
#include "backend/eval/function_calls.h"
#include "backend/eval/function_kernels.h"
#include "backend/eval/hash_rows.h"
#include "backend/eval/text_search.h"
#include "backend/eval/zip_rows.h"
#include "backend/expr/time_format.h"

namespace millrace::eval {

std::size_t characterBytes(std::string_view text) {
    std::size_t n = 1;
    while (n < text.size() && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) {
        ++n;
    }
    return n;
}

std::string textArgument(const expr::ExprNode& node, std::size_t i) {
    const auto* text = std::get_if<std::string>(&node.children[i]->literal);
    return text != nullptr ? *text : "";
}

std::int64_t intArgument(const expr::ExprNode& node, std::size_t i, std::int64_t fallback) {
    if (i >= node.children.size()) {
        return fallback;
    }
    const expr::ExprNode* child = node.children[i].get();
    while (child->op == expr::ExprOp::kCast) {
        child = child->children[0].get();
    }
    if (child->op == expr::ExprOp::kNegate) {
        return -std::get<std::int64_t>(child->children[0]->literal);
    }
    const auto* value = std::get_if<std::int64_t>(&child->literal);
    return value != nullptr ? *value : fallback;
}

Result<Datum> finished(arrow::ArrayBuilder& builder) {
    ArrayPtr array;
    if (!builder.Finish(&array).ok()) {
        return resourceExhausted("no memory");
    }
    return Datum(std::move(array));
}

namespace {

using F = expr::FunctionId;
using expr::ExprNode;

Result<Datum> castResult(const Result<Datum>& value, const expr::DataType& type,
                         std::int64_t rows) {
    RETURN_IF_ERROR(value.status());
    ASSIGN_OR_RETURN(const ArrayPtr array, asArray(*value, rows));
    expr::DataType from;
    arrays::toSpecType(*array->type(), from);
    ASSIGN_OR_RETURN(ArrayPtr out, castValues(array, from, type, false));
    return Datum(std::move(out));
}

/// For types without a numeric lane: dates, times, small integers.
Result<Datum> extreme(const ExprNode& node, const std::vector<Datum>& c, std::int64_t) {
    const arrow::compute::ElementWiseAggregateOptions options(/*skip_nulls=*/true);
    return callKernel(node.function->id == F::kLeast ? "min_element_wise" : "max_element_wise", c,
                      &options);
}

/// Makes one output per row from a string.
template <class Builder, class Make>
Result<Datum> mapText(const Datum& argument, std::int64_t rows, Builder& builder, Make make) {
    ASSIGN_OR_RETURN(const ArrayPtr array, asArray(argument, rows));
    const auto& in = static_cast<const arrow::StringArray&>(*array);
    for (std::int64_t i = 0; i < rows; ++i) {
        const arrow::Status status =
            in.IsNull(i) ? builder.AppendNull() : make(in.GetView(i), builder);
        RETURN_IF_ERROR(arrays::fromArrow(status, "string"));
    }
    return finished(builder);
}

Result<Datum> splitText(const ExprNode& node, const Datum& argument, std::int64_t rows) {
    const std::string separator = textArgument(node, 1);
    auto parts = std::make_shared<arrow::StringBuilder>(evaluationPool());
    arrow::ListBuilder builder(evaluationPool(), parts,
                               arrow::list(arrow::field("element", arrow::utf8())));
    return mapText(argument, rows, builder, [&](std::string_view text, arrow::ListBuilder& out) {
        arrow::Status status = out.Append();
        while (status.ok() && separator.empty() && !text.empty()) {
            const std::size_t n = characterBytes(text);
            status = parts->Append(text.substr(0, n));
            text.remove_prefix(n);
        }
        while (status.ok() && !separator.empty()) {
            const std::size_t at = text.find(separator);
            status = parts->Append(text.substr(0, at));
            if (at == std::string_view::npos) {
                break;
            }
            text.remove_prefix(at + separator.size());
        }
        return status;
    });
}

Result<Datum> parseTimes(const ExprNode& node, const Datum& argument, std::int64_t rows) {
    const expr::TimeFormat* const format = node.children[1]->timeFormat.get();
    if (format == nullptr) {
        return internalError("strptime(): the format was not parsed");
    }
    arrow::TimestampBuilder builder(arrow::timestamp(arrow::TimeUnit::MICRO), evaluationPool());
    return mapText(argument, rows, builder,
                   [format](std::string_view text, arrow::TimestampBuilder& out) {
                       const std::optional<std::int64_t> us = format->parse(text);
                       return us ? out.Append(*us) : out.AppendNull();
                   });
}

Result<Datum> textPosition(const std::vector<Datum>& c, std::int64_t rows) {
    ASSIGN_OR_RETURN(const ArrayPtr a, asArray(c[0], rows));
    ASSIGN_OR_RETURN(const ArrayPtr b, asArray(c[1], rows));
    arrow::Int64Builder builder(evaluationPool());
    const auto find = [&](std::string_view text, std::string_view part) {
        const std::size_t at = text.find(part);
        std::int64_t character = at == std::string_view::npos ? 0 : 1;
        for (std::string_view before = text.substr(0, at == std::string_view::npos ? 0 : at);
             !before.empty(); ++character) {
            before.remove_prefix(characterBytes(before));
        }
        builder.UnsafeAppend(character);
    };
    return zipRows<arrow::StringArray>(*a, *b, builder, find);
}

Result<Datum> regexpReplace(const ExprNode& node, const Datum& argument, std::int64_t) {
    const std::string letters = node.children.size() > 3 ? textArgument(node, 3) : "";
    const std::size_t other = letters.find_first_not_of("gi");
    if (other != std::string::npos) {
        return invalidArgument("regexp_replace: unknown option '", letters.substr(other, 1),
                               "'; there are 'g' (every match) and 'i' (ignores case)");
    }
    const bool isEvery = letters.find('g') != std::string::npos;
    const bool ignoresCase = letters.find('i') != std::string::npos;
    const arrow::compute::ReplaceSubstringOptions options(
        strCat(ignoresCase ? "(?i)" : "", textArgument(node, 1)), textArgument(node, 2),
        /*max_replacements=*/isEvery ? -1 : 1);
    return callKernel("replace_substring_regex", {argument}, &options);
}

Result<Datum> matchText(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    const F id = node.function->id;
    ASSIGN_OR_RETURN(const ArrayPtr a, asArray(c[0], rows));
    if (c[1].is_scalar() && c[1].scalar()->is_valid) {
        const PartPlace place = id == F::kStartsWith ? PartPlace::kBegin
                                : id == F::kEndsWith ? PartPlace::kEnd
                                                     : PartPlace::kAnywhere;
        return matchTexts(machineIsa(), *a, place,
                          static_cast<const arrow::StringScalar&>(*c[1].scalar()).view());
    }
    ASSIGN_OR_RETURN(const ArrayPtr b, asArray(c[1], rows));
    arrow::BooleanBuilder builder(evaluationPool());
    const auto match = [&](std::string_view text, std::string_view part) {
        builder.UnsafeAppend(id == F::kStartsWith ? text.starts_with(part)
                             : id == F::kEndsWith ? text.ends_with(part)
                                                  : text.find(part) != std::string_view::npos);
    };
    return zipRows<arrow::StringArray>(*a, *b, builder, match);
}

Result<Datum> hashCall(const std::vector<Datum>& c, std::int64_t rows) {
    std::vector<ArrayPtr> columns;
    for (const Datum& argument : c) {
        ASSIGN_OR_RETURN(ArrayPtr column, asArray(argument, rows));
        columns.push_back(std::move(column));
    }
    ASSIGN_OR_RETURN(const std::vector<std::uint64_t> hashes, hashRows(columns, rows, nullptr));
    arrow::DoubleBuilder builder(evaluationPool());
    if (!builder.Reserve(rows).ok()) {
        return resourceExhausted("no memory");
    }
    for (const std::uint64_t hash : hashes) {
        builder.UnsafeAppend(unitInterval(hash));
    }
    return finished(builder);
}

/// Rounds halves away from zero. A number without the wanted digits (they are below its last bit,
/// or scaling leaves the type's range) counts as rounded already.
template <class T>
T rounded(T value, std::int64_t digits, T power) {
    const T scaled = digits >= 0 ? value * power : value / power;
    const T whole = std::round(scaled);
    if (!std::isfinite(value) || (whole == scaled && (whole != 0 || value == 0))) {
        return value;
    }
    const T result = digits >= 0 ? whole / power : whole * power;
    return std::isfinite(result) ? result : digits >= 0 ? value : T{0};
}

template <class ArrowType>
Result<Datum> roundReals(const Datum& argument, std::int64_t digits, std::int64_t rows) {
    using T = typename ArrowType::c_type;
    ASSIGN_OR_RETURN(const ArrayPtr array, asArray(argument, rows));
    const auto& in = static_cast<const arrow::NumericArray<ArrowType>&>(*array);
    // Infinite if outside the range of doubles.
    const auto power = static_cast<T>(std::pow(10.0, std::abs(static_cast<double>(digits))));
    arrow::NumericBuilder<ArrowType> builder(evaluationPool());
    if (!builder.Reserve(rows).ok()) {
        return resourceExhausted("no memory");
    }
    for (std::int64_t i = 0; i < rows; ++i) {
        if (in.IsNull(i)) {
            builder.UnsafeAppendNull();
        } else {
            builder.UnsafeAppend(rounded(in.Value(i), digits, power));
        }
    }
    return finished(builder);
}

Result<Datum> roundNumber(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    const std::int64_t digits = intArgument(node, 1, 0);
    if (c[0].type()->id() == arrow::Type::DOUBLE) {
        return roundReals<arrow::DoubleType>(c[0], digits, rows);
    }
    if (c[0].type()->id() == arrow::Type::FLOAT) {
        return roundReals<arrow::FloatType>(c[0], digits, rows);
    }
    if (node.type.isInteger() && digits >= 0) {
        return c[0];
    }
    constexpr std::int64_t kMostDigits = 38;  // digits of a decimal; Arrow loops over its digits
    const arrow::compute::RoundOptions options(std::clamp(digits, -kMostDigits, kMostDigits),
                                               arrow::compute::RoundMode::HALF_TOWARDS_INFINITY);
    Result<Datum> made = castResult(callKernel("round", {c[0]}, &options), node.type, rows);
    if (!made.ok() && digits < 0 && node.type.isInteger()) {
        return callKernel("subtract", {c[0], c[0]});  // 0: no integer of the type has that many
                                                      // digits
    }
    return made;
}

/// The sign of NaN is 0.
Result<Datum> signOf(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    Result<Datum> made = castResult(callKernel("sign", {c[0]}), node.type, rows);
    if (made.ok() || !arrow::is_floating(c[0].type()->id())) {
        return made;
    }
    ASSIGN_OR_RETURN(const Datum isNan, callKernel("is_nan", {c[0]}));
    ASSIGN_OR_RETURN(const Datum numbers, callKernel("if_else", {isNan, Datum(0.0), c[0]}));
    return castResult(callKernel("sign", {numbers}), node.type, rows);
}

Result<Datum> regexpMatches(const ExprNode& node, const std::vector<Datum>& c, std::int64_t) {
    const arrow::compute::MatchSubstringOptions options(textArgument(node, 1));
    return callKernel("match_substring_regex", {c[0]}, &options);
}

Result<Datum> nullIf(const ExprNode&, const std::vector<Datum>&, std::int64_t) {
    return internalError("nullif is a case after typing");
}

/// For functions whose arguments always have a lane (lane_functions.cpp, lane_times.cpp,
/// branches.cpp).
Result<Datum> inLane(const ExprNode& node, const std::vector<Datum>&, std::int64_t) {
    return internalError(node.function->name, " is evaluated in its lane alone");
}

// Names of Arrow kernels with the same meaning as in DuckDB.
struct KernelName {
    char text[24];
};

template <KernelName kName>
Result<Datum> plain(const ExprNode&, const std::vector<Datum>& c, std::int64_t) {
    return callKernel(kName.text, c);
}

/// Converts the result to the call's type.
template <KernelName kName>
Result<Datum> plainCast(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    return castResult(callKernel(kName.text, c), node.type, rows);
}

/// Converts the argument to the call's type.
template <KernelName kName>
Result<Datum> whole(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    const Result<Datum> number = castResult(c[0], node.type, rows);
    RETURN_IF_ERROR(number.status());
    return callKernel(kName.text, {*number});
}

// The three shapes of the functions above.
template <Result<Datum> (*kCall)(const std::vector<Datum>&, std::int64_t)>
Result<Datum> ofAll(const ExprNode&, const std::vector<Datum>& c, std::int64_t rows) {
    return kCall(c, rows);
}

template <Result<Datum> (*kCall)(const ExprNode&, const Datum&, std::int64_t)>
Result<Datum> ofFirst(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    return kCall(node, c[0], rows);
}

// Functions that are evaluated in their lanes alone (findLaneKernel).
constexpr F kInLanes[] = {
    F::kSqrt,          F::kLn,        F::kLog1p,     F::kLog2,         F::kLog10,
    F::kExp,           F::kPow,       F::kCoalesce,  F::kYear,         F::kMonth,
    F::kDay,           F::kHour,      F::kMinute,    F::kSecond,       F::kQuarter,
    F::kWeek,          F::kDayOfYear, F::kDayOfWeek, F::kIsoDayOfWeek, F::kDatePart,
    F::kDateTrunc,     F::kDateDiff,  F::kEpoch,     F::kEpochMs,      F::kEpochUs,
    F::kMakeTimestamp, F::kTimeZone};

constexpr FunctionKernel kKernels[] = {
    {F::kAbs, plain<KernelName{"abs_checked"}>},
    {F::kSign, signOf},
    {F::kFloor, whole<KernelName{"floor"}>},
    {F::kCeil, whole<KernelName{"ceil"}>},
    {F::kRound, roundNumber},
    {F::kIsNan, plain<KernelName{"is_nan"}>},
    {F::kIsFinite, plain<KernelName{"is_finite"}>},
    {F::kLeast, extreme},
    {F::kGreatest, extreme},
    {F::kNullif, nullIf},
    {F::kHash01, ofAll<hashCall>},
    {F::kLength, plainCast<KernelName{"utf8_length"}>},
    {F::kStartsWith, matchText},
    {F::kEndsWith, matchText},
    {F::kContains, matchText},
    {F::kSplit, ofFirst<splitText>},
    {F::kRegexpMatches, regexpMatches},
    {F::kRegexpReplace, ofFirst<regexpReplace>},
    {F::kPosition, ofAll<textPosition>},
    {F::kReverse, plain<KernelName{"utf8_reverse"}>},
    {F::kStrptime, ofFirst<parseTimes>},
};

std::map<F, std::vector<FunctionCall>> allKernels() {
    std::map<F, std::vector<FunctionCall>> all;
    for (const std::span<const FunctionKernel> family :
         {std::span<const FunctionKernel>(kKernels), listKernels(), textKernels()}) {
        for (const FunctionKernel& kernel : family) {
            all[kernel.id].push_back(kernel.call);
        }
    }
    for (const F id : kInLanes) {
        all[id].push_back(inLane);
    }
    return all;
}

FunctionCall callOf(F id) {
    static const std::map<F, std::vector<FunctionCall>> kAll = allKernels();
    const auto known = kAll.find(id);
    return known == kAll.end() ? nullptr : known->second.front();
}

}  // namespace

Status checkFunctionKernels() {
    std::map<F, std::vector<FunctionCall>> all = allKernels();
    for (const expr::Function& function : expr::allFunctions()) {
        const std::size_t count = all[function.id].size();
        if (count != 1) {
            return internalError("function ", function.name, " has ", count,
                                 " kernels; it must have one");
        }
    }
    return okStatus();
}

Result<Datum> callFunction(const ExprNode& node, const std::vector<Datum>& c, std::int64_t rows) {
    const FunctionCall call = callOf(node.function->id);
    return call == nullptr ? internalError("function ", node.function->name, " has no kernel")
                           : call(node, c, rows);
}

}  // namespace millrace::eval
