#include "backend/expr/functions.h"

#include <algorithm>
#include <set>

namespace millrace::expr {
namespace {

using P = ParamKind;
using R = ResultKind;
using F = FunctionId;

// The texts are in docs/reference/spec.md and in completions. Changing what a function returns
// changes streams: raise its revision (revisionOf), and change the kernel in backend/eval.
std::vector<Function> numberFunctions() {
    return {
        {F::kAbs, "abs", {}, {P::kNumber}, {}, false, R::kFirst, "x", "the value without its sign"},
        {F::kSign, "sign", {}, {P::kNumber}, {}, false, R::kInt8, "x", "-1, 0 or 1"},
        {F::kFloor,
         "floor",
         {},
         {P::kNumber},
         {},
         false,
         R::kRounded,
         "x",
         "the next whole number down; double for integers"},
        {F::kCeil,
         "ceil",
         {"ceiling"},
         {P::kNumber},
         {},
         false,
         R::kRounded,
         "x",
         "the next whole number up; double for integers"},
        {F::kRound,
         "round",
         {},
         {P::kNumber},
         {P::kLiteralInt},
         false,
         R::kFirst,
         "x[, digits]",
         "rounded, halves away from zero, to `digits` (a literal, default 0) decimals"},
        {F::kSqrt, "sqrt", {}, {P::kDouble}, {}, false, R::kDouble, "x", "NaN below zero"},
        {F::kLn,
         "ln",
         {},
         {P::kDouble},
         {},
         false,
         R::kDouble,
         "x",
         "natural logarithm; -inf at zero, NaN below"},
        {F::kLog10,
         "log10",
         {"log"},
         {P::kDouble},
         {},
         false,
         R::kDouble,
         "x",
         "logarithm of base 10 (also under the name `log`, as in DuckDB); -inf at zero, NaN below"},
        {F::kLog2,
         "log2",
         {},
         {P::kDouble},
         {},
         false,
         R::kDouble,
         "x",
         "logarithm of base 2; -inf at zero, NaN below"},
        {F::kLog1p,
         "log1p",
         {},
         {P::kDouble},
         {},
         false,
         R::kDouble,
         "x",
         "ln(1 + x), exact near zero (not in DuckDB)"},
        {F::kExp, "exp", {}, {P::kDouble}, {}, false, R::kDouble, "x", "e to the power of x"},
        {F::kPow,
         "pow",
         {"power"},
         {P::kDouble, P::kDouble},
         {},
         false,
         R::kDouble,
         "x, y",
         "x to the power of y; also written x ^ y or x ** y"},
        {F::kIsNan, "isnan", {}, {P::kDouble}, {}, false, R::kBool, "x", "whether x is NaN"},
        {F::kIsFinite,
         "isfinite",
         {},
         {P::kDouble},
         {},
         false,
         R::kBool,
         "x",
         "whether x is neither NaN nor infinite"},
        {F::kLeast,
         "least",
         {},
         {P::kSame},
         {},
         true,
         R::kSame,
         "a, b, ...",
         "the smallest argument; nulls are left out; null if all are null"},
        {F::kGreatest,
         "greatest",
         {},
         {P::kSame},
         {},
         true,
         R::kSame,
         "a, b, ...",
         "the largest argument; nulls are left out; null if all are null"},
        {F::kCoalesce,
         "coalesce",
         {"ifnull"},
         {P::kSame},
         {},
         true,
         R::kSame,
         "a, b, ...",
         "the first argument that is not null"},
        {F::kNullif,
         "nullif",
         {},
         {P::kSame, P::kSame},
         {},
         false,
         R::kSame,
         "a, b",
         "null if a = b, else a"},
        {F::kHash01,
         "hash01",
         {},
         {P::kAny},
         {},
         true,
         R::kDouble,
         "a, b, ...",
         "a number in [0, 1) that depends only on the values: (XXH3-64 of their canonical bytes >> "
         "11) * 2^-53. Canonical bytes of each value: a tag byte (0 null, 1 integer, 2 float, 3 "
         "string, 4 bool), then int64, double (-0 as 0, one NaN), length as uint64 and bytes, or "
         "one byte; little-endian. Null counts as a value; the result is never null"},
    };
}

std::vector<Function> stringFunctions() {
    return {
        {F::kLength,
         "length",
         {"len"},
         {P::kString},
         {},
         false,
         R::kInt64,
         "s",
         "number of characters"},
        {F::kLower, "lower", {"lcase"}, {P::kString}, {}, false, R::kString, "s", "in lower case"},
        {F::kUpper, "upper", {"ucase"}, {P::kString}, {}, false, R::kString, "s", "in upper case"},
        {F::kTrim,
         "trim",
         {},
         {P::kString},
         {},
         false,
         R::kString,
         "s",
         "without spaces at both ends"},
        {F::kLtrim,
         "ltrim",
         {},
         {P::kString},
         {},
         false,
         R::kString,
         "s",
         "without spaces at the start"},
        {F::kRtrim,
         "rtrim",
         {},
         {P::kString},
         {},
         false,
         R::kString,
         "s",
         "without spaces at the end"},
        {F::kSubstr,
         "substr",
         {"substring"},
         {P::kString, P::kLiteralInt},
         {P::kLiteralInt},
         false,
         R::kString,
         "s, start[, count]",
         "`count` characters from `start` (literals); the first is 1, -1 the last"},
        {F::kConcat,
         "concat",
         {},
         {P::kString},
         {},
         true,
         R::kString,
         "a, b, ...",
         "the arguments joined; nulls are left out (`a || b` is null if one is null)"},
        {F::kStartsWith,
         "starts_with",
         {"prefix"},
         {P::kString, P::kString},
         {},
         false,
         R::kBool,
         "s, start",
         "whether s begins with `start`"},
        {F::kEndsWith,
         "ends_with",
         {"suffix"},
         {P::kString, P::kString},
         {},
         false,
         R::kBool,
         "s, end",
         "whether s ends with `end`"},
        {F::kContains,
         "contains",
         {},
         {P::kString, P::kString},
         {},
         false,
         R::kBool,
         "s, part",
         "whether s contains the part"},
        {F::kReplace,
         "replace",
         {},
         {P::kString, P::kLiteralString, P::kLiteralString},
         {},
         false,
         R::kString,
         "s, from, to",
         "s with every `from` replaced by `to` (literals)"},
        {F::kSplit,
         "split",
         {"string_split", "str_split", "string_to_array"},
         {P::kString, P::kLiteralString},
         {},
         false,
         R::kStringList,
         "s, separator",
         "the parts between the separators (a literal); '' gives the characters"},
        {F::kRegexpExtract,
         "regexp_extract",
         {},
         {P::kString, P::kLiteralString},
         {P::kLiteralInt},
         false,
         R::kString,
         "s, pattern[, group]",
         "the first match (RE2), or its group; '' if nothing matches"},
        {F::kRegexpMatches,
         "regexp_matches",
         {},
         {P::kString, P::kLiteralString},
         {},
         false,
         R::kBool,
         "s, pattern",
         "whether a part of s matches (RE2)"},
        {F::kRegexpReplace,
         "regexp_replace",
         {},
         {P::kString, P::kLiteralString, P::kLiteralString},
         {},
         false,
         R::kString,
         "s, pattern, to",
         "with the first match (RE2) replaced; `\\1` in `to` is the first group"},
        {F::kLeft,
         "left",
         {},
         {P::kString, P::kLiteralInt},
         {},
         false,
         R::kString,
         "s, n",
         "the first n characters (a literal); if n < 0, all but the last -n"},
        {F::kRight,
         "right",
         {},
         {P::kString, P::kLiteralInt},
         {},
         false,
         R::kString,
         "s, n",
         "the last n characters (a literal); if n < 0, all but the first -n"},
        {F::kPosition,
         "strpos",
         {"instr"},
         {P::kString, P::kString},
         {},
         false,
         R::kInt64,
         "s, part",
         "the character at which the part begins, from 1; 0 if s does not contain it"},
        {F::kSplitPart,
         "split_part",
         {},
         {P::kString, P::kLiteralString, P::kLiteralInt},
         {},
         false,
         R::kString,
         "s, separator, i",
         "part i between the separators (literals); the first is 1, -1 the last; '' beyond the "
         "ends"},
        {F::kReverse,
         "reverse",
         {},
         {P::kString},
         {},
         false,
         R::kString,
         "s",
         "the characters from the last to the first"},
    };
}

/// A part of a time: takes one argument and returns an integer.
Function partOfTime(F id, std::string_view name, std::vector<std::string_view> aliases,
                    std::string_view doc) {
    return {id, name, std::move(aliases), {P::kTime}, {}, false, R::kInt64, "t", doc};
}

std::vector<Function> timeFunctions() {
    return {
        partOfTime(F::kYear, "year", {}, "the year, in UTC"),
        partOfTime(F::kQuarter, "quarter", {}, "1 to 4"),
        partOfTime(F::kMonth, "month", {}, "1 to 12"),
        partOfTime(F::kWeek, "week", {"weekofyear"}, "the ISO week, 1 to 53"),
        partOfTime(F::kDay, "day", {"dayofmonth"}, "1 to 31"),
        partOfTime(F::kDayOfYear, "dayofyear", {}, "1 to 366"),
        partOfTime(F::kDayOfWeek, "dayofweek", {"weekday"}, "0 (Sunday) to 6"),
        partOfTime(F::kIsoDayOfWeek, "isodow", {}, "1 (Monday) to 7"),
        partOfTime(F::kHour, "hour", {}, "0 to 23"),
        partOfTime(F::kMinute, "minute", {}, "0 to 59"),
        partOfTime(F::kSecond, "second", {}, "0 to 59"),
        {F::kDatePart,
         "date_part",
         {"datepart"},
         {P::kTimePart, P::kTime},
         {},
         false,
         R::kInt64,
         "part, t",
         "the part with this name (a literal): 'year', 'quarter', 'month', 'week', 'day', "
         "'dayofyear', 'dayofweek', 'isodow', 'hour', 'minute', 'second'"},
        {F::kDateTrunc,
         "date_trunc",
         {"datetrunc"},
         {P::kTimePart, P::kTime},
         {},
         false,
         R::kTimestamp,
         "part, t",
         "the beginning of the year, quarter, month, week (Monday), day, hour, minute or second "
         "that contains t"},
        {F::kDateDiff,
         "date_diff",
         {"datediff"},
         {P::kTimePart, P::kTime, P::kTime},
         {},
         false,
         R::kInt64,
         "part, from, to",
         "number of parts that begin between the two times; negative if `to` is earlier"},
        {F::kEpoch,
         "epoch",
         {},
         {P::kTime},
         {},
         false,
         R::kDouble,
         "t",
         "seconds since 1970, with their fraction"},
        partOfTime(F::kEpochMs, "epoch_ms", {}, "milliseconds since 1970"),
        partOfTime(F::kEpochUs, "epoch_us", {}, "microseconds since 1970"),
    };
}

/// Functions that make times of other values.
std::vector<Function> timesOfValues() {
    return {
        {F::kMakeTimestamp,
         "make_timestamp",
         {},
         {P::kInt64},
         {},
         false,
         R::kTimestamp,
         "us",
         "the time of `us` microseconds since 1970"},
        {F::kStrptime,
         "strptime",
         {"try_strptime"},
         {P::kString, P::kTimeFormat},
         {},
         false,
         R::kTimestamp,
         "s, format",
         "the time that s shows in the form `format` (a literal), such as '%d.%m.%Y' or "
         "'%b %d, %Y %I:%M %p'; null where s does not match"},
        {F::kTimeZone,
         "timezone",
         {},
         {P::kTimeZone, P::kTime},
         {},
         false,
         R::kTimestamp,
         "zone, t",
         "the zone's local time at the time t, which is UTC; `zone` is a literal, 'Europe/Berlin'. "
         "Also written t at time zone 'Europe/Berlin': hour(t at time zone 'Europe/Berlin') is the "
         "hour there"},
    };
}

// Some of their names have an overload for plain values (`length`, `contains`, `hash_ids`): whether
// the first argument is a list chooses between them.
std::vector<Function> listFunctions() {
    return {
        {F::kListLength,
         "length",
         {"len", "array_length"},
         {P::kList},
         {},
         false,
         R::kInt64,
         "list",
         "number of elements"},
        {F::kListContains,
         "list_contains",
         {"list_has", "contains", "array_contains"},
         {P::kList, P::kElement},
         {},
         false,
         R::kBool,
         "list, x",
         "whether an element equals x"},
        {F::kListExtract,
         "list_extract",
         {"list_element", "element_at"},
         {P::kList, P::kLiteralInt},
         {},
         false,
         R::kElement,
         "list, i",
         "element i (a literal), also list[i]; the first is 1, -1 the last; null beyond the ends"},
        {F::kListSlice,
         "list_slice",
         {"array_slice"},
         {P::kList, P::kLiteralInt, P::kLiteralInt},
         {},
         false,
         R::kFirst,
         "list, first, last",
         "elements `first` to `last` (literals), both included; the first is 1, -1 the last: (1, "
         "n) "
         "are the first n, (-n, -1) the last n"},
        {F::kHashIds,
         "hash_ids",
         {},
         {P::kAny, P::kLiteralInt},
         {P::kLiteralInt},
         false,
         R::kInt64,
         "x, buckets[, seed]",
         "the result of the step `hash`: 0 for null, else 1 + h mod (buckets - 1) (not in DuckDB)"},
        {F::kListHashIds,
         "hash_ids",
         {},
         {P::kList, P::kLiteralInt},
         {P::kLiteralInt},
         false,
         R::kInt64List,
         "list, buckets[, seed]",
         "the same for each element; a null list stays null (not in DuckDB)"},
    };
}

// The order of the reference page.
std::vector<Function> makeAll() {
    std::vector<Function> all = numberFunctions();
    for (auto* more : {&stringFunctions, &listFunctions, &timeFunctions, &timesOfValues}) {
        for (Function& function : more()) {
            all.push_back(std::move(function));
        }
    }
    return all;
}

}  // namespace

std::vector<std::string> timeParts(bool mayTruncate) {
    std::vector<std::string> parts = {"day",     "hour",   "minute", "month",
                                      "quarter", "second", "week",   "year"};
    if (!mayTruncate) {
        parts.insert(parts.end(), {"dayofweek", "dayofyear", "isodow"});
    }
    std::sort(parts.begin(), parts.end());
    return parts;
}

std::span<const Function> allFunctions() {
    static const std::vector<Function> kAll = makeAll();
    return kAll;
}

std::vector<const Function*> findFunctions(std::string_view name) {
    std::string lower(name);
    for (char& c : lower) {
        // ASCII only, whatever the locale: all names are ASCII.
        c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    }
    std::vector<const Function*> found;
    for (const Function& function : allFunctions()) {
        const bool isAlias = std::find(function.aliases.begin(), function.aliases.end(), lower) !=
                             function.aliases.end();
        if (function.name == lower || isAlias) {
            found.push_back(&function);
        }
    }
    return found;
}

int revisionOf(FunctionId id) {
    switch (id) {
        case FunctionId::kLn:
        case FunctionId::kLog1p:
        case FunctionId::kLog2:
        case FunctionId::kLog10:
        case FunctionId::kExp:
        case FunctionId::kPow:
            return 2;  // revision 1 rounded from the x87 unit's long doubles
        default:
            return 1;
    }
}

std::vector<std::string> functionNames() {
    // Forms of the grammar that look like calls; they are suggested like functions.
    std::set<std::string> names = {"if", "cast", "try_cast"};
    for (const Function& function : allFunctions()) {
        names.emplace(function.name);
        names.insert(function.aliases.begin(), function.aliases.end());
    }
    return {names.begin(), names.end()};
}

}  // namespace millrace::expr
